#include "moe/passes/slice_allreduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::slice_allreduce_test {
namespace {

using test::small_model;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Program iteration(int ranks = 4, int expert_ranks = 2) {
  return build_iteration(small_model(DType::f32), make_groups(ranks, expert_ranks), 0);
}

std::vector<const Op*> reductions(const Program& program, int layer) {
  std::vector<const Op*> found;
  for (const Op& op : program.ops) {
    if (op.layer == layer && std::holds_alternative<AllReduce>(op.kind)) found.push_back(&op);
  }
  return found;
}

std::int64_t bytes(const Program& program, const Op& op) {
  std::int64_t sum = 0;
  for (const Use& use : op.writes) {
    const Tensor& tensor = program.tensors[use.tensor];
    sum += (slice_end(tensor.rows, use.slice) - slice_begin(tensor.rows, use.slice)) *
           tensor.columns * bytes_of(tensor.dtype);
  }
  return sum;
}

TEST(SliceAllReduce, CoversEveryRowOnceInOrder) {
  const Program whole = iteration();
  for (const int layer : {-1, 0, 1}) {
    for (const int slices : {1, 2, 3, 7, 16}) {
      const Program sliced = apply(whole, SliceAllReduce{layer, slices});
      EXPECT_EQ(reductions(sliced, layer).size(),
                reductions(whole, layer).size() * static_cast<std::size_t>(slices));
      std::map<TensorId, std::int64_t> next;  // row that comes next
      for (const Op* op : reductions(sliced, layer)) {
        EXPECT_FALSE(op->writes.empty());
        for (const Use& use : op->writes) {
          const std::int64_t rows = sliced.tensors[use.tensor].rows;
          EXPECT_EQ(slice_begin(rows, use.slice), next[use.tensor]);
          next[use.tensor] = slice_end(rows, use.slice);
        }
      }
      for (const Op* op : reductions(whole, layer)) {
        for (const Use& use : op->writes) {
          EXPECT_EQ(next[use.tensor], sliced.tensors[use.tensor].rows);
        }
      }
    }
  }
}

TEST(SliceAllReduce, SharesTheBytesOutToWithinARow) {
  const Program sliced = apply(iteration(), SliceAllReduce{1, 4});
  std::map<GroupKind, std::vector<std::int64_t>> sizes;
  for (const Op* op : reductions(sliced, 1)) {
    sizes[std::get<AllReduce>(op->kind).group].push_back(bytes(sliced, *op));
  }
  ASSERT_EQ(sizes.size(), 2u);  // dense parameters over the world, experts over their replicas
  for (const auto& [group, slices] : sizes) {
    ASSERT_EQ(slices.size(), 4u);
    const auto [least, most] = std::minmax_element(slices.begin(), slices.end());
    EXPECT_LE(*most - *least, 2 * 3 * 16 * 4);  // widest row: 3 d_model
  }
}

TEST(SliceAllReduce, PiecesAreToEachOtherAsTheirSharesAre) {
  const Program sliced = apply(iteration(4, 4), SliceAllReduce{1, 3, {1, 4, 3}});
  const auto slices = reductions(sliced, 1);
  ASSERT_EQ(slices.size(), 3u);
  std::int64_t all = 0;
  for (const Op* op : slices) all += bytes(sliced, *op);
  const std::int64_t row = 2 * 3 * 16 * 4;  // as above
  EXPECT_NEAR(bytes(sliced, *slices[0]), all / 8, row);
  EXPECT_NEAR(bytes(sliced, *slices[1]), all / 2, row);
  EXPECT_EQ(reductions(apply(iteration(), SliceAllReduce{1, 2, {1, 1000000}}), 1).size(), 4u);
}

TEST(SliceAllReduce, RefusesSharesThatAreNotOneForEachPiece) {
  const auto refusal = [](const SliceAllReduce& slicing) {
    try {
      apply(iteration(), slicing);
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({1, 3, {1, 2}}), HasSubstr("2 shares: expected one for each slice"));
  EXPECT_THAT(refusal({1, 2, {1, 0}}), HasSubstr("a share of 0: expected at least 1"));
  const Schedule schedule{"mine", {SliceAllReduce{1, 2, {3, 5}}}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(to_json(schedule.decisions[0]),
            R"({"decision":"slice_allreduce","layer":1,"shares":[3,5],"slices":2})");
  EXPECT_EQ(schedule_from_json(R"({"planner": "mine", "decisions": [
      {"decision": "slice_allreduce", "layer": 1, "shares": [3, 5], "pieces": 2}]})"),
            schedule)
      << "by the former name of its field";
}

TEST(SliceAllReduce, LeavesLossesAndGradientsAsTheyWereBitForBit) {
  const Model model = small_model(DType::f32);
  for (const int ranks : {2, 4, 7}) {
    const test::Outcome one = test::train_small(model, {"", {}}, ranks, 3);
    const Schedule sliced{"", {SliceAllReduce{0, 3}, SliceAllReduce{1, 5}, SliceAllReduce{-1, 2}}};
    const test::Outcome other = test::train_small(model, sliced, ranks, 3);
    EXPECT_EQ(one.losses, other.losses);
    EXPECT_EQ(one.gradients, other.gradients);
  }
}

TEST(SliceAllReduce, RefusesWhatCannotBeSliced) {
  EXPECT_THAT(
      [] {
        apply(iteration(), SliceAllReduce{0, 0});
      },
      ThrowsMessage<Refusal>(HasSubstr("expected at least one slice")));
  EXPECT_THAT(
      [] {
        apply(iteration(), SliceAllReduce{5, 2});
      },
      ThrowsMessage<Refusal>(HasSubstr("layer 5): no gradients are reduced")));
  EXPECT_THAT(
      [] {
        apply(iteration(1, 1), SliceAllReduce{0, 2});
      },
      ThrowsMessage<Refusal>(HasSubstr("no gradients are reduced")));
  EXPECT_THAT(
      [] {
        apply(iteration(), SliceAllReduce{0, 1000});
      },
      ThrowsMessage<Refusal>(HasSubstr("\"all_reduce\" reduces")));
  for (const int slices : {1025, std::numeric_limits<int>::max()}) {
    EXPECT_THAT(
        [&] {
          apply(iteration(), SliceAllReduce{0, slices});
        },
        ThrowsMessage<Refusal>(HasSubstr("expected at most 1024 slices")));
  }
  EXPECT_THAT(
      [] {
        apply(apply(iteration(), SliceAllReduce{0, 2}), SliceAllReduce{0, 2});
      },
      ThrowsMessage<Refusal>(HasSubstr("sliced already")));
}

}  // namespace
}  // namespace moe::slice_allreduce_test
