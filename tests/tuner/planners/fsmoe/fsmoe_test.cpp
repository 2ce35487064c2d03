#include "tuner/planners/fsmoe/fsmoe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/moe/train/training_case.h"
#include "tests/tuner/planners/fsmoe/slsqp_degree.h"
#include "tests/tuner/planners/planned.h"
#include "tests/tuner/planners/sharded_situation.h"
#include "tuner/planners/pipeline/best_degrees.h"
#include "tuner/planners/pipelined/pipelined.h"

namespace tuner::fsmoe_test {
namespace {

using namespace test;
using moe::ExchangePlace;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct FsmoeTest : ::testing::Test, ShardedSituation {
  PlannerOptions options{.most_chunks = 4};
};

/// A pipeline of these degrees with gradients shared out over backward.
moe::Schedule fsmoe_schedule(const Situation& situation, Degrees degrees, InNode in_node) {
  const char* planner = in_node == InNode::beside ? "fsmoe" : "fsmoe_no_iio";
  return with_gradients_filled(
      unplaced_gradients(situation,
                         pipeline_with_gradients(situation.program, planner, degrees, in_node)),
      Fill::all_of_backward);
}

/// The slices that stand after places of a kind.
int placed(const moe::Schedule& schedule, ExchangePlace place) {
  int count = 0;
  for (const auto& placing : moe::decisions_of<moe::PlaceAllReduce>(schedule)) {
    count += placing.after == place;
  }
  return count;
}

TEST_F(FsmoeTest, HasAStreamForEveryLinkAndNoIioOneForBoth) {
  const moe::Schedule fsmoe = fsmoe_schedule(situation, {2, 2}, InNode::beside);
  const moe::Schedule no_iio = fsmoe_schedule(situation, {2, 2}, InNode::with_the_rest);
  EXPECT_EQ(fsmoe.planner, "fsmoe");
  EXPECT_EQ(no_iio.planner, "fsmoe_no_iio");
  using moe::Stream;
  for (const char* kind : {"gather_rows", "scatter_rows"}) {
    EXPECT_THAT(fsmoe.decisions, Contains(moe::StreamAssignment{kind, Stream::intra_node}));
    EXPECT_THAT(no_iio.decisions, Contains(moe::StreamAssignment{kind, Stream::inter_node}));
  }
  for (const moe::Schedule* schedule : {&fsmoe, &no_iio}) {
    for (const char* kind : {"all_to_all", "all_reduce"}) {
      EXPECT_THAT(schedule->decisions, Contains(moe::StreamAssignment{kind, Stream::inter_node}));
    }
    EXPECT_GT(placed(*schedule, ExchangePlace::dispatch), 0);
    EXPECT_GT(placed(*schedule, ExchangePlace::combine), 0);
  }
}

TEST_F(FsmoeTest, GradientsOfOneRankAreNotReduced) {
  const moe::Groups alone = moe::make_groups(1, 1);
  const moe::Program on_one = moe::build_iteration(model, alone, 0);
  const moe::Routing even = make_routing("uniform", on_one, alone, 1);
  const Situation one{on_one, alone, even, costs, cluster};
  const moe::Schedule schedule = planned("fsmoe", one, options);
  EXPECT_TRUE(moe::decisions_of<moe::PlaceAllReduce>(schedule).empty());
  EXPECT_NO_THROW(moe::apply(on_one, schedule));
}

TEST_F(FsmoeTest, EachPlannerOfTheFamilyIsNoWorseThanWhatItImproves) {
  const double tutel_s = simulated_s(plan_tutel(situation, options));
  const double pipemoe_s = simulated_s(plan_pipemoe(situation, options));
  const double improved_s = simulated_s(plan_tutel_improved(situation, options));
  const double no_iio_s = simulated_s(planned("fsmoe_no_iio", situation, options));
  const double fsmoe_s = simulated_s(planned("fsmoe", situation, options));
  EXPECT_LE(pipemoe_s, tutel_s);
  EXPECT_LT(improved_s, 0.98 * pipemoe_s);
  EXPECT_LT(no_iio_s, improved_s);
  EXPECT_LT(fsmoe_s, 0.98 * no_iio_s);
}

TEST_F(FsmoeTest, NoPlannerIsSlowerThanOneWhoseChoicesItHasToo) {
  // All-reduces that take long to start, so that every slice costs more than it hides.
  for (const double start_s : {2e-5, 3e-3, 5e-2}) {
    for (const int stages : {1, 2}) {
      costs.fits["all_reduce/inter_node"].alpha_s = start_s;
      cluster.nodes = 2 * stages;
      const moe::Groups staged = groups_of(cluster, moe::Layout{1, 2, 2, 2, stages});
      const moe::Program iteration = moe::build_iteration(model, staged, 0);
      const moe::Routing even = make_routing("uniform", iteration, staged, 1);
      const Situation one{iteration, staged, even, costs, cluster};
      const auto seconds = [&](const moe::Schedule& schedule) {
        return simulate(moe::apply(iteration, schedule), staged, even, costs, cluster).duration_s;
      };
      const double pipemoe_s = seconds(plan_pipemoe(one, options));
      const double improved_s = seconds(plan_tutel_improved(one, options));
      const double no_iio_s = seconds(planned("fsmoe_no_iio", one, options));
      EXPECT_LE(improved_s, pipemoe_s) << start_s << " s, " << stages << " stages";
      EXPECT_LE(no_iio_s, improved_s) << start_s << " s, " << stages << " stages";
    }
  }
}

TEST_F(FsmoeTest, GradientsInPiecesThatFitBeatTheSamePipelineWithoutThem) {
  for (const InNode in_node : {InNode::beside, InNode::with_the_rest}) {
    for (const int chunks : {1, 2, 4}) {
      EXPECT_LT(simulated_s(fsmoe_schedule(situation, {chunks, chunks}, in_node)),
                simulated_s(pipeline_with_gradients(program, "", {chunks, chunks}, in_node)));
    }
  }
}

TEST_F(FsmoeTest, PhasesOfALayerAreWhatItsTasksTakeInAnyChunks) {
  const auto phases = moe_phases(situation, InNode::beside);
  ASSERT_EQ(phases.size(), 2u * 4);
  const auto quarters =
      pipeline_times(situation, pipeline_schedule(program, "", {4, 4}, InNode::beside));
  for (const auto& [where, phase] : phases) {
    const ChunkTimes by_line = chunk_times(phase, 4), own = quarters.at(where).chunk;
    EXPECT_NEAR(by_line.a2a, own.a2a, 0.02 * own.a2a);
    EXPECT_NEAR(by_line.ag, own.ag, 0.02 * own.ag);
    EXPECT_NEAR(by_line.rs, own.rs, 0.02 * own.rs);
    EXPECT_NEAR(by_line.exp, own.exp, 0.02 * own.exp);
    EXPECT_EQ(phase.gar_s, 0);
  }
}

TEST_F(FsmoeTest, ThePapersAlgorithmsGiveEachLayerItsDegrees) {
  const moe::Schedule schedule = fsmoe_schedule_by_equations(situation, 8, InNode::beside);
  const auto phases = moe_phases(situation, InNode::beside);
  for (const auto& split : moe::decisions_of<moe::PipelineSplit>(schedule)) {
    if (split.phase != moe::Phase::forward) continue;
    const MoePhase& phase = phases.at({{split.layer, 0}, split.phase});
    EXPECT_EQ(split.chunks, degree_by_equations(phase, 8).chunks);
    EXPECT_EQ(split.chunks, degree_by_slsqp(phase, 8).chunks);
  }
  EXPECT_GT(moe::decisions_of<moe::PipelineSplit>(schedule).size(), 4u);
  EXPECT_GT(placed(schedule, ExchangePlace::dispatch), 0);
  EXPECT_LE(simulated_s(planned("fsmoe", situation, options)),
            simulated_s(fsmoe_schedule_by_equations(situation, 4, InNode::beside)));
  const std::string remark = fsmoe_remark(situation, options, schedule);
  EXPECT_THAT(remark, HasSubstr("by the paper's algorithms"));
  std::vector<std::string> ways;
  for (const Candidate& one : fsmoe_candidates(situation, options, InNode::beside)) {
    ways.push_back(one.parameters_json);
    EXPECT_THAT(one.parameters_json, HasSubstr(degrees_json(one.schedule).substr(1)))
        << "where a refinement changes them, the text does";
  }
  EXPECT_THAT(ways, ::testing::ElementsAre(
                        HasSubstr(R"("by": "simulation",)"),
                        HasSubstr(R"("by": "simulation, gradients beside dense parts",)"),
                        HasSubstr(R"("by": "simulation, gradients of blocks whole",)"),
                        HasSubstr(R"("by": "simulation, gradients after backward",)"),
                        HasSubstr(R"("by": "equations",)")));
}

TEST_F(FsmoeTest, TutelImprovedReducesBlocksWholeBesideTheAttentionOfTheNext) {
  const moe::Schedule schedule = tutel_improved_schedule(situation, {2, 2});
  EXPECT_EQ(schedule.planner, "tutel_improved");
  for (const int block : {1, 2, 3}) {
    EXPECT_THAT(schedule.decisions,
                Contains(moe::PlaceAllReduce{block, 0, ExchangePlace::combine, block - 1}));
  }
  for (const auto& slicing : moe::decisions_of<moe::SliceAllReduce>(schedule)) {
    EXPECT_EQ(slicing.layer, -1) << "head and embedding, which have all of backward between them";
  }
  EXPECT_EQ(placed(schedule, ExchangePlace::dispatch), 0);
}

TEST_F(FsmoeTest, TutelImprovedAsReleasedHasTheBestOfOneDegreeForBothPhases) {
  PlannerOptions released = options;
  released.asked[kReleasedDegree.key] = 1;
  const moe::Schedule schedule = plan_tutel_improved(situation, released);
  EXPECT_EQ(degrees_of(schedule).forward, degrees_of(schedule).backward);
  for (int chunks = 1; chunks <= most_chunks(released); ++chunks) {
    EXPECT_LE(simulated_s(schedule),
              simulated_s(tutel_improved_schedule(situation, {chunks, chunks})));
  }
}

TEST_F(FsmoeTest, TutelImprovedReducesBesideBlocksWithoutExpertsToo) {
  model.moe_every = 2;
  const moe::Program mixed = moe::build_iteration(model, groups, 0);
  const Situation other{mixed, groups, routing, costs, cluster};
  const moe::Schedule schedule = tutel_improved_schedule(other, {2, 2});
  // Block 2 has no experts: those of 3 are reduced beside it, its own beside the attention of 1.
  EXPECT_THAT(schedule.decisions, Contains(moe::PlaceAllReduce{3, 0, ExchangePlace::block, 3}));
  EXPECT_THAT(schedule.decisions, Contains(moe::PlaceAllReduce{2, 0, ExchangePlace::combine, 1}));
  EXPECT_NO_THROW(moe::apply(mixed, schedule));
}

TEST_F(FsmoeTest, LinasChunksAreOfFixedSizeWhereverTheExchangeIsIdle) {
  const double chunk_bytes = 400e3;
  const moe::Schedule schedule = pipemoe_lina_schedule(situation, {2, 2}, chunk_bytes);
  EXPECT_EQ(schedule.planner, "pipemoe_lina");
  const auto slices = moe::decisions_of<moe::SliceAllReduce>(schedule);
  EXPECT_EQ(slices.size(), 5u);
  for (const auto& slicing : slices) {
    EXPECT_THAT(slicing.shares, ::testing::Each(1)) << slicing.layer;
  }
  EXPECT_GT(placed(schedule, ExchangePlace::dispatch), 0);
  EXPECT_GT(placed(schedule, ExchangePlace::combine), 0);
  EXPECT_TRUE(
      moe::decisions_of<moe::SliceAllReduce>(pipemoe_lina_schedule(situation, {2, 2})).empty())
      << "no block has more than 30 MB";
}

TEST_F(FsmoeTest, LinasFixedChunksPayWhereTheyAreSmallAndHoldTheExchangeUpWhereNot) {
  const double without_s = simulated_s(pipeline_with_gradients(program, "", {2, 2}));
  EXPECT_LT(simulated_s(pipemoe_lina_schedule(situation, {2, 2}, 200e3)), 0.98 * without_s);
  EXPECT_GT(simulated_s(pipemoe_lina_schedule(situation, {2, 2})), without_s);
}

TEST_F(FsmoeTest, WhatItPlansTrainsToTheSameBits) {
  namespace test = moe::test;
  const moe::Model small = test::small_model(moe::DType::f64);
  const moe::Layout layout{1, 2, 2, 2};
  const moe::Groups two_by_two = groups_of(cluster, layout);
  const moe::Program iteration = moe::build_iteration(small, two_by_two, 0);
  const moe::Routing even = make_routing("uniform", iteration, two_by_two, 1);
  CostModel of_f64 = costs;
  of_f64.fits[gemm_fit("f64")] = costs.fits.at("gemm");
  const Situation one{iteration, two_by_two, even, of_f64, cluster};
  const Degrees degrees{2, 3};
  for (const InNode in_node : {InNode::beside, InNode::with_the_rest}) {
    const moe::Schedule planned = fsmoe_schedule(one, degrees, in_node);
    EXPECT_FALSE(moe::decisions_of<moe::PlaceAllReduce>(planned).empty());
    const auto expected =
        test::train_small(small, pipeline_schedule(iteration, "", degrees), layout, 2);
    const auto outcome = test::train_small(small, planned, layout, 2);
    EXPECT_EQ(outcome.losses, expected.losses);
    EXPECT_EQ(outcome.gradients, expected.gradients);
  }
}

}  // namespace
}  // namespace tuner::fsmoe_test
