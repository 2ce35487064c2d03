#include "moe/passes/shard_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/work.h"
#include "moe/rows/element_share.h"
#include "tests/moe/train/training_case.h"

namespace moe::shard_optimizer_test {
namespace {

using test::largest_difference;
using test::largest_state_difference;
using test::Outcome;
using test::small_model;
using test::train_in_turn;
using test::train_small;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kPlain{"plain", {}};
const Schedule kSharded{"sharded", {ShardOptimizer{}}};
/// Groups of 2 and 4 ranks that copy dense parameters, and of 2 and 4 that copy experts.
const std::vector<Layout> kLayouts{{1, 2, 1}, {2, 2, 1}, {4, 1, 1}, {2, 1, 2, 2}, {2, 1, 1, 1, 2}};

template <class Kind>
std::vector<const Op*> ops_of(const Program& program) {
  std::vector<const Op*> found;
  for (const Op& op : program.ops) {
    if (std::holds_alternative<Kind>(op.kind)) found.push_back(&op);
  }
  return found;
}

std::int64_t state_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.role == Role::optimizer_state) {
      bytes += tensor.rows * tensor.columns * bytes_of(tensor.dtype);
    }
  }
  return bytes;
}

TEST(ShardOptimizer, ReducesAndGathersEveryCopiedParameterOnce) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Program whole = build_iteration(small_model(dtype), make_groups({2, 2, 1}), 0);
    const Program sharded = apply(whole, kSharded);
    std::map<TensorId, int> reduced, gathered;
    for (const Op* op : ops_of<ReduceShares>(sharded)) {
      for (const Use& use : op->writes) ++reduced[use.tensor];
    }
    for (const Op* op : ops_of<GatherShares>(sharded)) {
      for (const Use& use : op->writes) ++gathered[use.tensor];
    }
    EXPECT_TRUE(ops_of<AllReduce>(sharded).empty());
    EXPECT_EQ(ops_of<ReduceShares>(sharded).size(), ops_of<AllReduce>(whole).size());
    for (const Parameter& parameter : sharded.parameters) {
      EXPECT_TRUE(parameter.shares_state);
      EXPECT_EQ(reduced[parameter.gradient], 1);
      EXPECT_EQ(gathered[parameter.value], 1);
    }
  }
}

TEST(ShardOptimizer, ChangesNoBit) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::sgd}) {
      Model model = small_model(dtype);
      model.optimizer = optimizer;
      for (const Layout& layout : kLayouts) {
        const Outcome plain = train_small(model, kPlain, layout, 3);
        const Outcome sharded = train_small(model, kSharded, layout, 3);
        EXPECT_EQ(sharded.losses, plain.losses) << to_text(layout);
        EXPECT_EQ(largest_difference(sharded, plain), 0) << to_text(layout);
        EXPECT_EQ(largest_state_difference(sharded, plain), 0) << to_text(layout);
      }
    }
  }
}

TEST(ShardOptimizer, CountsEveryElementOnceInTheNormOfGradients) {
  Model model = small_model(DType::f64);
  model.clip_norm = 0.25;
  model.d_model = 20;  // shares of 7 ranks are not equal
  for (const Layout& layout : {Layout{2, 2, 1}, Layout{1, 7, 1}, Layout{2, 1, 2, 2}}) {
    const Outcome plain = train_small(model, kPlain, layout, 3);
    const Outcome sharded = train_small(model, kSharded, layout, 3);
    for (std::size_t step = 0; step < 3; ++step) {
      const double norm = plain.gradient_norms[step];
      EXPECT_GT(norm, *model.clip_norm);
      EXPECT_NEAR(sharded.gradient_norms[step], norm, 1e-12 * norm) << to_text(layout);
      EXPECT_NEAR(sharded.losses[step], plain.losses[step], 1e-12) << to_text(layout);
    }
  }
}

TEST(ShardOptimizer, StatesTakeTheMemoryOfAShare) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Model model = small_model(dtype);
    const Program whole = build_iteration(model, make_groups({4, 1, 1}), 0);
    const Program sharded = apply(whole, kSharded);
    EXPECT_LT(state_bytes(sharded), state_bytes(whole) * 26 / 100);
    EXPECT_GE(state_bytes(sharded), state_bytes(whole) / 4);
    const auto persistent = [](const Program& program) {
      return MemoryPlan(program, start_rule(program)).activations_begin();
    };
    const std::int64_t padding = 256 * static_cast<std::int64_t>(whole.tensors.size());
    EXPECT_NEAR(static_cast<double>(persistent(whole) - persistent(sharded)),
                static_cast<double>(state_bytes(whole) - state_bytes(sharded)),
                static_cast<double>(padding));

    const Outcome plain = train_small(model, kPlain, Layout{4, 1, 1}, 1);
    const Outcome outcome = train_small(model, kSharded, Layout{4, 1, 1}, 1);
    EXPECT_LT(outcome.planned_peaks[0], plain.planned_peaks[0]);
    EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks);
  }
}

TEST(ShardOptimizer, RanksSendTheBytesThatOpsState) {
  const Model model = small_model(DType::bf16);
  const Groups groups = make_groups({2, 2, 1});
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    const test::RankOutcome outcome =
        test::train_rank(model, {kSharded}, groups, 1, world, *backend);
    const Program program = apply(build_iteration(model, groups, world.rank), kSharded);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      if (!std::holds_alternative<ReduceShares>(op.kind) &&
          !std::holds_alternative<GatherShares>(op.kind)) {
        continue;
      }
      EXPECT_EQ(outcome.last.sent_bytes[i], work_of(program, op, {}, groups, world.rank).wire_bytes)
          << op.name << " on rank " << world.rank;
    }
  });
}

TEST(ShardOptimizer, MayBeginAndEndBetweenIterations) {
  const Model model = small_model(DType::bf16);
  const Groups groups = make_groups({2, 2, 1});
  const Outcome plain = train_small(model, kPlain, groups, 5);
  const Outcome changing =
      train_in_turn(model, {kPlain, kSharded, kSharded, kPlain, kSharded}, groups, 5);
  EXPECT_EQ(changing.losses, plain.losses);
  EXPECT_EQ(largest_state_difference(changing, plain), 0);
}

TEST(ShardOptimizer, IsRefusedWithoutCopiesAndTogetherWithSlices) {
  const Program alone = build_iteration(small_model(DType::f32), make_groups(1, 1), 0);
  EXPECT_THAT([&] { apply(alone, kSharded); },
              ThrowsMessage<Refusal>("shard_optimizer: no two ranks hold copies of a parameter: "
                                     "expected a layout of at least 2 ranks"));
  const Program several = build_iteration(small_model(DType::f32), make_groups(2, 2), 0);
  const Schedule both{"both", {ShardOptimizer{}, SliceAllReduce{1, 2}}};
  EXPECT_THAT([&] { apply(several, both); },
              ThrowsMessage<Refusal>(HasSubstr("expected one of slice_allreduce and "
                                               "shard_optimizer")));
}

TEST(ShardOptimizer, IsADecisionOfScheduleFiles) {
  EXPECT_EQ(schedule_from_json(to_json(kSharded)), kSharded);
}

}  // namespace
}  // namespace moe::shard_optimizer_test
