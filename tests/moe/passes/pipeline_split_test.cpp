#include "moe/passes/pipeline_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "moe/rows/binding.h"
#include "moe/rows/routing.h"
#include "tests/moe/train/training_case.h"

namespace moe::pipeline_split_test {
namespace {

using test::all_moe_model;
using test::small_model;
using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

/// On 4 ranks: 7 sequences of 8 tokens each, two copies of a token; experts in layer 1.
Program iteration() { return build_iteration(small_model(DType::f32), make_groups(4, 4), 0); }

Program split(int layer, Phase phase, int chunks) {
  return apply(iteration(), PipelineSplit{layer, phase, chunks});
}

/// Kinds and chunks of the ops that were cut.
std::string order_of_pieces(const Program& program) {
  std::string order;
  for (const Op& op : program.ops) {
    if (op.chunk.count > 1) {
      order += std::string(kind_name(op)) + std::to_string(op.chunk.index) + " ";
    }
  }
  return order;
}

TEST(PipelineSplit, IssuesAllDispatchesThenEachChunksExpertsAndReturn) {
  EXPECT_EQ(order_of_pieces(split(1, Phase::forward, 2)),
            "permute0 all_to_all0 permute1 all_to_all1 "
            "expert_linear0 gelu0 expert_linear0 all_to_all0 "
            "expert_linear1 gelu1 expert_linear1 all_to_all1 ");
}

TEST(PipelineSplit, BackwardSendsTheGradientOfARowHomeBeforeItsWeightGradients) {
  std::string chunk0 =
      "expert_linear_input_gradient0 gelu_gradient0 expert_linear_input_gradient0 all_to_all0 "
      "expert_linear_weight_gradient0 expert_linear_weight_gradient0 ";
  std::string chunk1 = chunk0;
  std::replace(chunk1.begin(), chunk1.end(), '0', '1');
  EXPECT_EQ(
      order_of_pieces(split(1, Phase::backward, 2)),
      "combine_input_gradient0 all_to_all0 combine_input_gradient1 all_to_all1 " + chunk0 + chunk1);
}

TEST(PipelineSplit, SharesOfAChunkAreSummedBeforeTheExpertsOfTheNext) {
  const Program program = build_iteration(small_model(DType::f32), make_groups(Layout{1, 2, 2}), 0);
  EXPECT_EQ(order_of_pieces(apply(program, PipelineSplit{1, Phase::forward, 3})),
            "permute0 all_to_all0 gather_rows0 permute1 all_to_all1 gather_rows1 "
            "permute2 all_to_all2 gather_rows2 "
            "expert_linear0 gelu0 expert_linear0 scatter_rows0 sum_shares0 all_to_all0 "
            "expert_linear1 gelu1 expert_linear1 scatter_rows1 sum_shares1 all_to_all1 "
            "expert_linear2 gelu2 expert_linear2 scatter_rows2 sum_shares2 all_to_all2 ");
}

TEST(PipelineSplit, ByGroupsOfRanksIsStepsWhoseExpertsFollowEachOther) {
  EXPECT_EQ(order_of_pieces(apply(iteration(), PipelineSplit{1, Phase::forward, 2, 2})),
            "all_to_all0 all_to_all1 "
            "expert_linear0 gelu0 expert_linear0 all_to_all0 "
            "expert_linear1 gelu1 expert_linear1 all_to_all1 ");
  const Program program = apply(iteration(), Schedule{"",
                                                      {PipelineSplit{1, Phase::forward, 4, 1},
                                                       PipelineSplit{1, Phase::backward, 2, 1}}});
  const Routing routing{{uniform_routing(1, 4, small_model(DType::f32).experts, 112)}};
  const Groups groups = make_groups(4, 4);
  for (int rank = 0; rank < 4; ++rank) {
    const Binding binding = bind(program, routing, groups, rank);
    for (const Op& op : program.ops) {
      if (!std::holds_alternative<AllToAll>(op.kind) || op.phase != Phase::forward) continue;
      const auto bytes = bytes_to_peers(program, op, binding, groups, rank);
      const bool there = direction_of(op) == Direction::dispatch;
      const int peer = (rank + (there ? op.chunk.index : 4 - op.chunk.index)) % 4;
      for (int other = 0; other < 4; ++other) {
        EXPECT_EQ(bytes[static_cast<std::size_t>(other)] > 0, other == peer && other != rank)
            << op.name << " of chunk " << op.chunk.index << " to " << other;
      }
    }
  }
}

TEST(PipelineSplit, RefusesGroupsThatDoNotDivideAndTwoWaysInOneLayer) {
  EXPECT_THAT(
      [] {
        apply(iteration(), PipelineSplit{1, Phase::forward, 2, 3});
      },
      ThrowsMessage<Refusal>(
          HasSubstr("groups of 3 ranks, where 4 exchange rows: expected one of 1, 2, 4")));
  const auto both = [](int forward, int backward) {
    return apply(iteration(), Schedule{"",
                                       {PipelineSplit{1, Phase::forward, 2, forward},
                                        PipelineSplit{1, Phase::backward, 2, backward}}});
  };
  EXPECT_NO_THROW(both(2, 2));
  EXPECT_THAT([&] { both(0, 2); },
              ThrowsMessage<Refusal>(
                  HasSubstr("(layer 1, backward): cut by groups of 2 ranks, the other phase along "
                            "the rows of all ranks: expected both alike")));
  EXPECT_THROW(both(1, 2), Refusal);
  EXPECT_THROW(both(2, 0), Refusal);
}

TEST(PipelineSplit, RefusesAnOpAmongTheCutOnesThatNeedsAllRows) {
  // As a hook could: rows back at their tokens and sent again, before they are dispatched.
  Program program = iteration();
  const auto dispatch = std::find_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
    return op.layer == 1 && std::holds_alternative<AllToAll>(op.kind);
  });
  const Op permute = *(dispatch - 1);
  ASSERT_TRUE(std::holds_alternative<Permute>(permute.kind));
  const auto added = [&](TensorId like) {
    program.tensors.push_back(program.tensors[static_cast<std::size_t>(like)]);
    return static_cast<TensorId>(program.tensors.size()) - 1;
  };
  const TensorId x = added(permute.reads[0].tensor), again = added(permute.writes[0].tensor);
  Op gather = permute, send = permute;
  gather.kind = PermuteGradient{2};
  gather.reads[0] = permute.writes[0];
  gather.writes[0].tensor = send.reads[0].tensor = x;
  send.name = "sent again";
  send.writes[0].tensor = dispatch->reads[0].tensor = again;
  program.ops.insert(dispatch, {gather, send});
  validate(program);
  EXPECT_THAT(
      [&] {
        apply(program, PipelineSplit{1, Phase::forward, 2});
      },
      ThrowsMessage<Refusal>(
          HasSubstr("\"sent again\" reads what an op makes of all rows at once")));
}

TEST(PipelineSplit, IntoOneChunkChangesNothing) {
  EXPECT_EQ(to_text(split(1, Phase::forward, 1)), to_text(iteration()));
  EXPECT_EQ(to_text(split(1, Phase::backward, 1)), to_text(iteration()));
}

TEST(PipelineSplit, CutsOnePhaseOfOneLayerAndLeavesAllElseInItsOrder) {
  const Program before = build_iteration(all_moe_model(DType::f32, 2), make_groups(4, 4), 0);
  const Program after = apply(before, PipelineSplit{1, Phase::forward, 3});
  std::vector<std::string> whole;
  for (const Op& op : after.ops) {
    if (op.chunk.count == 1) whole.push_back(op.name + std::to_string(op.layer));
    if (op.chunk.count == 1) continue;
    EXPECT_EQ(op.layer, 1);
    EXPECT_EQ(op.phase, Phase::forward);
    EXPECT_EQ(op.chunk.count, 3);
  }
  std::size_t next = 0, cut = 0;
  for (const Op& op : before.ops) {
    if (next < whole.size() && whole[next] == op.name + std::to_string(op.layer)) {
      ++next;
    } else {
      ++cut;
    }
  }
  EXPECT_EQ(next, whole.size());
  EXPECT_EQ(cut, 6u) << "permute, two exchanges, two products, gelu";
}

TEST(PipelineSplit, AddsUpTheWeightGradientsOfAllButTheFirstChunk) {
  std::vector<bool> accumulate;
  for (const Op& op : split(1, Phase::backward, 3).ops) {
    if (const auto* gradient = std::get_if<ExpertLinearWeightGradient>(&op.kind)) {
      accumulate.push_back(gradient->accumulate);
      EXPECT_EQ(op.reads.size(), gradient->accumulate ? 4u : 2u);  // it reads what it changes
    }
  }
  EXPECT_EQ(accumulate, (std::vector<bool>{false, false, true, true, true, true}));
}

TEST(PipelineSplit, PiecesOfAWeightGradientCannotChangePlaces) {
  Program program = split(1, Phase::backward, 2);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].name == "experts down dW") places.push_back(i);
  }
  ASSERT_EQ(places.size(), 2u);
  const auto waits = dependencies(program)[places[1]];
  EXPECT_TRUE(std::binary_search(waits.begin(), waits.end(), static_cast<int>(places[0])));
  std::swap(program.ops[places[0]], program.ops[places[1]]);
  EXPECT_THAT([&] { validate(program); },
              ThrowsMessage<std::logic_error>(HasSubstr("before it is written")));
}

TEST(PipelineSplit, RefusesALayerWithoutExpertsNoChunksAndASecondCut) {
  EXPECT_THAT(
      [] { split(0, Phase::forward, 2); },
      ThrowsMessage<Refusal>(StrEq(
          "pipeline_split: 2 chunks (layer 0, forward): no experts there: expected layer 1")));
  EXPECT_THROW(split(7, Phase::forward, 2), Refusal);
  EXPECT_THROW(split(1, Phase::update, 2), Refusal);
  EXPECT_THAT([] { split(1, Phase::backward, 0); },
              ThrowsMessage<Refusal>(StrEq(
                  "pipeline_split: 0 chunks (layer 1, backward): expected at least 1 chunk")));
  const auto twice = [](Phase second) {
    return [=] { apply(split(1, Phase::forward, 2), PipelineSplit{1, second, 2}); };
  };
  EXPECT_THAT(twice(Phase::forward),
              ThrowsMessage<Refusal>(HasSubstr("(layer 1, forward): the layer is split already")));
  EXPECT_NO_THROW(twice(Phase::backward)());
}

TEST(PipelineSplit, RefusesMoreChunksThanRowsAndThanMakeSense) {
  EXPECT_NO_THROW(split(1, Phase::forward, 112));
  EXPECT_THAT([] { split(1, Phase::backward, 113); },
              ThrowsMessage<Refusal>(HasSubstr("a rank sends at most 112 rows there")));
  Model large = small_model(DType::f32);
  large.global_batch = 28 * 30;
  const Program program = build_iteration(large, make_groups(1, 1), 0);
  EXPECT_NO_THROW(apply(program, PipelineSplit{1, Phase::forward, 1024}));
  EXPECT_THAT(
      [&] {
        apply(program, PipelineSplit{1, Phase::forward, 1025});
      },
      ThrowsMessage<Refusal>(HasSubstr("expected at most 1024 chunks")));
  EXPECT_THAT([] { split(0, Phase::forward, std::numeric_limits<int>::max()); },
              ThrowsMessage<Refusal>(HasSubstr("expected at most 1024 chunks")));
}

TEST(PipelineSplit, CountsNoMoreRowsThanCapacityLetsTravel) {
  Model model = small_model(DType::f32);
  model.experts = 4;
  model.capacity_factor = 0.25;  // ceil(2 * 0.25 * 8 / 4) = 1 copy per expert and group of 8 tokens
  const Program program = build_iteration(model, make_groups(4, 4), 0);
  EXPECT_NO_THROW(apply(program, PipelineSplit{1, Phase::forward, 28}));
  EXPECT_THAT(
      [&] {
        apply(program, PipelineSplit{1, Phase::forward, 29});
      },
      ThrowsMessage<Refusal>(HasSubstr("a rank sends at most 28 rows")));
}

}  // namespace
}  // namespace moe::pipeline_split_test
