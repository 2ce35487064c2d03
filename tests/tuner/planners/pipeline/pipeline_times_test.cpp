#include "tuner/planners/pipeline/pipeline_times.h"

#include <gtest/gtest.h>

#include "tests/tuner/planners/fsmoe/fsmoe_replay.h"
#include "tests/tuner/planners/sharded_situation.h"
#include "tests/tuner/single_costs.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner::pipeline_times_test {
namespace {

using namespace test;

struct PipelineTimesTest : ::testing::Test, ShardedSituation {
  std::map<PipelineOf, PipelineTimes> times(const moe::Schedule& schedule) {
    return pipeline_times(situation, schedule);
  }
};
const PipelineOf kForward{{1, 0}, moe::Phase::forward}, kBackward{{1, 0}, moe::Phase::backward};

TEST_F(PipelineTimesTest, WhatStaysInsideNodesCountsApartOnlyOnAStreamOfItsOwn) {
  const auto beside = times(pipeline_schedule(program, "", {2, 3}, InNode::beside));
  const auto together = times(pipeline_schedule(program, "", {2, 3}));
  for (const auto& [where, chunks] : {std::pair{kForward, 2}, {kBackward, 3}}) {
    const PipelineTimes &a = beside.at(where), &b = together.at(where);
    EXPECT_EQ(a.chunks, chunks);
    EXPECT_GT(a.chunk.ag, 0);
    EXPECT_GT(a.chunk.rs, 0);
    EXPECT_EQ(b.chunk.ag, 0);
    EXPECT_NEAR(2 * b.chunk.a2a, 2 * a.chunk.a2a + a.chunk.ag + a.chunk.rs, 1e-12);
    EXPECT_DOUBLE_EQ(a.chunk.exp, b.chunk.exp);
  }
  EXPECT_GT(beside.at(kBackward).chunk.exp * 3, 1.5 * beside.at(kForward).chunk.exp * 2);
}

TEST_F(PipelineTimesTest, WeightGradientsOfTheLastChunkTrail) {
  for (const int chunks : {1, 3}) {
    const auto all = times(pipeline_schedule(program, "", {chunks, chunks}, InNode::beside));
    EXPECT_EQ(all.at(kForward).trailing_s, 0);
    EXPECT_EQ(before_combine(all.at(kForward)).exp, all.at(kForward).chunk.exp);
    // Backward has two products for every one of forward; the weight gradients are one of them.
    const PipelineTimes& backward = all.at(kBackward);
    EXPECT_NEAR(backward.trailing_s, backward.chunk.exp / 2, 0.1 * backward.chunk.exp);
    EXPECT_NEAR(before_combine(backward).exp * chunks,
                backward.chunk.exp * chunks - backward.trailing_s, 1e-12);
  }
}

TEST_F(PipelineTimesTest, GradientsAfterADispatchAreOfItsPipeline) {
  moe::Schedule schedule = pipeline_with_gradients(program, "", {1, 2}, InNode::beside);
  EXPECT_EQ(times(schedule).at(kBackward).gar_s, 0);
  const double before_s = pipelined_iteration_s(situation, schedule);
  schedule.decisions.push_back(moe::PlaceAllReduce{2, 0, moe::ExchangePlace::dispatch, 1});
  const auto placed = times(schedule);
  EXPECT_GT(placed.at(kBackward).gar_s, 0);
  EXPECT_EQ(placed.at({{0, 0}, moe::Phase::backward}).gar_s, 0);
  const PipelineTimes& one = placed.at(kBackward);
  EXPECT_NEAR(
      pipelined_iteration_s(situation, schedule),
      before_s - one.gar_s + moe_phase_s(2, one.chunk, one.gar_s) - moe_phase_s(2, one.chunk, 0),
      1e-12);
}

TEST_F(PipelineTimesTest, GradientsBesideDensePartsCostWhatIsLongerThanThese) {
  moe::Schedule schedule = pipeline_with_gradients(program, "", {1, 1}, InNode::beside);
  const double before_s = pipelined_iteration_s(situation, schedule);
  schedule.decisions.push_back(moe::PlaceAllReduce{2, 0, moe::ExchangePlace::combine, 1});
  const double beside_s = pipelined_iteration_s(situation, schedule);
  EXPECT_LT(beside_s, before_s);
  cluster.inter_node.bandwidth_bytes_per_s /= 100;  // now the gradients take the time
  const double slow_s = pipelined_iteration_s(situation, schedule);
  schedule.decisions.pop_back();
  EXPECT_GT(slow_s, 0.9 * pipelined_iteration_s(situation, schedule));
}

TEST_F(PipelineTimesTest, ForwardIsSimulatedAsFsmoesLaunchOrderIsReplayed) {
  // Nothing but exchanges and experts takes time.
  costs.fits["gemm"].beta_s_per_unit = costs.fits["memory"].beta_s_per_unit = 0;
  costs.fits["expert_linear"].beta_s_per_unit = 1e-11;
  for (const InNode in_node : {InNode::beside, InNode::with_the_rest}) {
    for (const int chunks : {1, 2, 3, 5, 8}) {
      const moe::Schedule schedule = pipeline_schedule(program, "", {chunks, 1}, in_node);
      double replayed_s = 0;
      for (const auto& [where, one] :
           times(pipeline_schedule(program, "", {chunks, 1}, InNode::beside))) {
        if (where.second != moe::Phase::forward) continue;
        replayed_s += in_node == InNode::beside ? replay_s(chunks, one.chunk, 0)
                                                : replay_on_one_stream_s(chunks, one.chunk, 0);
      }
      // The exchange of counts, and all-gathers of tensor parallelism, come before and after.
      const moe::Program scheduled = moe::forward_only(moe::apply(program, schedule));
      const auto op_cost = single_costs(scheduled, groups, routing, costs, cluster);
      double others_s = 0;
      for (std::size_t i = 0; i < scheduled.ops.size(); ++i) {
        if (!belongs_to_pipeline(scheduled, scheduled.ops[i])) {
          others_s += alone_seconds(op_cost[i], groups, cluster);
        }
      }
      const double simulated_s =
          simulate(scheduled, groups, routing, costs, cluster).duration_s - others_s;
      // The replay has chunks of equal rows, which 3 and 5 chunks are not.
      EXPECT_GT(simulated_s, (1 - 1e-2) * replayed_s) << chunks << " chunks";
      EXPECT_LT(simulated_s, (1 + 1e-2) * replayed_s) << chunks << " chunks";
    }
  }
}

}  // namespace
}  // namespace tuner::pipeline_times_test
