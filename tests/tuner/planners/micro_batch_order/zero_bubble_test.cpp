#include "tuner/planners/micro_batch_order/zero_bubble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "moe/model/iteration.h"
#include "moe/passes/separate_weight_gradients.h"
#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/micro_batch_order/micro_batch_order.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/simulate.h"

namespace tuner::zero_bubble_test {
namespace {

using namespace test;

/// A dense model on stages of as many blocks each, whose rows are passed on in no time.
struct Pipeline {
  moe::Model model;
  Cluster cluster = small_cluster();
  moe::Groups groups;
  moe::Program program;
  CostModel costs;
  moe::Routing none;

  Pipeline(int stages, int micro_batches, int blocks_of_stage = 1) {
    model.vocabulary = 64;  // a small head, so that stages are nearly alike
    model.head = moe::Head::untied;
    model.blocks = stages * blocks_of_stage;
    model.moe_every = 0;
    model.global_batch = model.micro_batches = micro_batches;
    cluster.nodes = stages;
    cluster.inter_node = {1e15, 0};
    groups = groups_of(cluster, moe::Layout{1, 1, 1, 1, stages});
    program = moe::build_iteration(model, groups, 0);
    costs.fits["gemm"].beta_s_per_unit = 1e-10;
    costs.fits["memory"].beta_s_per_unit = 0;
  }
  Situation situation() const { return {program, groups, none, costs, cluster}; }

  /// The simulated time of an iteration in which one op of every pass of a block takes a time and the
  /// others take none.
  double simulated(const moe::Schedule& schedule, const moe::PassTimes& times) const {
    const moe::Program scheduled = moe::apply(program, schedule);
    const std::vector<bool> apart = moe::separate_weight_gradients(scheduled);
    std::vector<OpCost> op_costs = single_costs(scheduled, groups, none, costs, cluster);
    std::set<std::tuple<int, int, moe::Pass>> timed;
    for (std::size_t i = 0; i < scheduled.ops.size(); ++i) {
      const moe::Op& op = scheduled.ops[i];
      if (moe::is_communication(op)) continue;
      op_costs[i].seconds.assign(op_costs[i].seconds.size(), 0);
      const moe::Pass pass = apart[i]                          ? moe::Pass::weight_gradient
                             : op.phase == moe::Phase::forward ? moe::Pass::forward
                                                               : moe::Pass::backward;
      if (moe::comes_once(op) || op.layer < 0) continue;
      if (!timed.emplace(op.layer, op.micro_batch, pass).second) continue;
      const auto time = pass == moe::Pass::forward    ? times.forward
                        : pass == moe::Pass::backward ? times.backward
                                                      : times.weight_gradient;
      op_costs[i].seconds.assign(op_costs[i].seconds.size(), static_cast<double>(time));
    }
    return run_simulation(scheduled, groups, op_costs, costs, cluster).duration_s;
  }
};

TEST(ZeroBubble, SimulatedBubblesAreThoseOfTheClosedForms) {
  constexpr int kStages = 4, kBatches = 8;
  const Pipeline pipeline(kStages, kBatches);
  const Situation situation = pipeline.situation();
  const auto zero_bubble = [&](int in_flight, const moe::PassTimes& times) {
    moe::OrderMicroBatches ordering{moe::MicroBatchOrder::zero_bubble, in_flight};
    ordering.times.assign(kStages, times);
    return moe::Schedule{"zero_bubble",
                         {ordering, moe::StreamAssignment{"pass_on", moe::Stream::inter_node}}};
  };
  for (const moe::PassTimes& t : {moe::PassTimes{1, 1, 1}, moe::PassTimes{10, 20, 10}}) {
    const double work = kBatches * static_cast<double>(t.forward + t.backward + t.weight_gradient);
    const auto bubble = [&](const moe::Schedule& schedule) {
      return pipeline.simulated(schedule, t) - work;
    };
    const double of_all = (kStages - 1) * work / kBatches;
    EXPECT_NEAR(bubble(plan_gpipe(situation, {})), of_all, 1e-6);
    EXPECT_NEAR(bubble(plan_one_f_one_b(situation, {})), of_all, 1e-6);
    EXPECT_NEAR(bubble(zero_bubble(0, t)),
                static_cast<double>((kStages - 1) * (t.forward + t.backward - t.weight_gradient)),
                1e-6);
    // The last stage begins when the first micro-batch comes, and then never waits.
    EXPECT_NEAR(bubble(zero_bubble(2 * kStages, t)), static_cast<double>((kStages - 1) * t.forward),
                1e-6);
  }
}

TEST(ZeroBubble, PlannerBeats1F1BInAboutItsMemoryAndSaysWhatItDecided) {
  const Pipeline pipeline(4, 8);
  const Situation situation = pipeline.situation();
  const moe::Schedule before = plan_one_f_one_b(situation, {}),
                      plan = plan_zero_bubble(situation, {});
  EXPECT_LT(simulated_s(situation, plan), 0.95 * simulated_s(situation, before));
  EXPECT_EQ(zero_bubble_candidates(situation, {}).size(), 4u);
  const double paper_s = zero_bubble_paper_seconds(situation, plan);
  EXPECT_NEAR(simulated_s(situation, plan), paper_s, 0.2 * paper_s);

  const PlannerRequest request = parse_planner("zero_bubble:h=1");
  const auto candidates = candidates_of(*request.planner, situation, request.options);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].parameters_json, R"({"h": 1, "times": "equal"})");
  EXPECT_EQ(candidates[1].parameters_json, R"({"h": 1, "times": "predicted"})");
  // As many micro-batches as 1F1B, and the gradients of their rows while weight gradients wait.
  const auto peak = [&](const moe::Schedule& schedule) {
    return static_cast<double>(planned_peak_bytes(situation, schedule));
  };
  const auto twice = zero_bubble_candidates(situation, parse_planner("zero_bubble:h=2").options);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_LT(peak(candidates[i].schedule), 1.25 * peak(before));
    EXPECT_LT(peak(candidates[i].schedule), peak(twice[i].schedule));
  }
}

TEST(ZeroBubbleV, SimulatedBubbleIsThatOfTheClosedForm) {
  constexpr int kStages = 4, kBatches = 8;
  const Pipeline pipeline(kStages, kBatches, 2);
  const Situation situation = pipeline.situation();
  const moe::PassTimes t{1, 1, 1};  // of a block
  const double work = kBatches * 2 * 3;
  const auto candidates = zero_bubble_v_candidates(situation, {});
  ASSERT_EQ(candidates.size(), 4u);
  EXPECT_EQ(candidates[0].parameters_json, R"({"kept": 4, "times": "equal"})");
  EXPECT_EQ(candidates[2].parameters_json, R"({"kept": 3, "times": "equal"})");
  EXPECT_NEAR(pipeline.simulated(candidates[0].schedule, t) - work, (kStages - 1) * 1.0, 1e-6);
  const double of_1f1b = (kStages - 1) * 6.0;
  EXPECT_NEAR(pipeline.simulated(plan_one_f_one_b(situation, {}), t) - work, of_1f1b, 1e-6);
  EXPECT_LE(pipeline.simulated(candidates[2].schedule, t) - work, of_1f1b / 2 + 1e-6);
}

TEST(ZeroBubbleV, PlannerBeatsZeroBubbleInTheMemoryOf1F1B) {
  const Pipeline pipeline(4, 8, 2);
  const Situation situation = pipeline.situation();
  const moe::Schedule plan = plan_zero_bubble_v(situation, {}),
                      h1 = plan_zero_bubble(situation, parse_planner("zero_bubble:h=1").options);
  EXPECT_LT(simulated_s(situation, plan), simulated_s(situation, h1));
  const double paper_s = zero_bubble_v_paper_seconds(situation, plan);
  EXPECT_NEAR(simulated_s(situation, plan), paper_s, 0.2 * paper_s);
  const auto peak = [&](const moe::Schedule& schedule) {
    return static_cast<double>(planned_peak_bytes(situation, schedule));
  };
  EXPECT_LT(peak(plan), 1.25 * peak(plan_one_f_one_b(situation, {})));
  const auto half =
      zero_bubble_v_candidates(situation, parse_planner("zero_bubble_v:in_flight=2").options);
  ASSERT_EQ(half.size(), 2u);
  EXPECT_LT(peak(half[0].schedule), peak(plan_one_f_one_b(situation, {})));
}

TEST(ZeroBubbleV, NeedsAnUntiedHeadAndTwoChunksForEveryStage) {
  EXPECT_TRUE(zero_bubble_v_candidates(Pipeline(4, 8, 1).situation(), {}).empty());
  Pipeline tied(2, 4, 2);
  tied.model.head = moe::Head::tied;
  tied.program = moe::build_iteration(tied.model, tied.groups, 0);
  EXPECT_TRUE(zero_bubble_v_candidates(tied.situation(), {}).empty());
  EXPECT_TRUE(plan_zero_bubble_v(tied.situation(), {}).decisions.empty());
}

TEST(ZeroBubble, PlannerKeepsToTheMemoryOfARankWhereOneOrderFits) {
  Pipeline pipeline(4, 16);
  const Situation situation = pipeline.situation();
  const auto peak = [&](const char* planner) {
    const PlannerRequest request = parse_planner(planner);
    return planned_peak_bytes(situation, plan_zero_bubble(situation, request.options));
  };
  const std::int64_t least = peak("zero_bubble:h=1"), most = peak("zero_bubble:h=2");
  ASSERT_LT(least, most);
  pipeline.cluster.memory_bytes = (least + most) / 2;
  EXPECT_TRUE(fits_memory(situation, plan_zero_bubble(situation, {})));
}

TEST(ZeroBubble, PlannerCutsStagesByTimeWhereTheHeadIsLong) {
  Pipeline pipeline(4, 8);
  pipeline.model.blocks = 16;
  pipeline.model.vocabulary = 4096;
  pipeline.program = moe::build_iteration(pipeline.model, pipeline.groups, 0);
  const Situation situation = pipeline.situation();
  const auto candidates = zero_bubble_candidates(situation, {});
  EXPECT_EQ(candidates.size(), 8u);
  double equal_s = simulated_s(situation, candidates.front().schedule);
  for (const Candidate& one : candidates) {
    if (!moe::decisions_of<moe::PlaceBlocks>(one.schedule).empty()) continue;
    equal_s = std::min(equal_s, simulated_s(situation, one.schedule));
  }
  const moe::Schedule plan = plan_zero_bubble(situation, {});
  EXPECT_LT(simulated_s(situation, plan), 0.98 * equal_s);
  const auto placed = moe::decisions_of<moe::PlaceBlocks>(plan);
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_LT(std::ranges::count(placed.front().stages, 3), 4);  // the last stage has the head
  EXPECT_NE(zero_bubble_parameters(plan).find(R"("blocks_of_chunks": ")"), std::string::npos);
}

TEST(ZeroBubble, OneStageOrMicroBatchLeavesNothingToOrder) {
  for (const auto& [stages, micro_batches] : {std::pair{1, 4}, {4, 1}}) {
    const Pipeline pipeline(stages, micro_batches);
    EXPECT_TRUE(plan_zero_bubble(pipeline.situation(), {}).decisions.empty());
    EXPECT_TRUE(zero_bubble_candidates(pipeline.situation(), {}).empty());
  }
}

}  // namespace
}  // namespace tuner::zero_bubble_test
