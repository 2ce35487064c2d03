#include "tuner/costs/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "tests/tuner/calibrated_model.h"
#include "tests/tuner/small_program.h"
#include "tuner/costs/observe.h"
#include "tuner/costs/op_costs.h"
#include "tuner/machine/slowdown.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/profile_schedules.h"

namespace tuner::calibrate_test {
namespace {

using namespace test;

/// Iterations that a machine with known costs would have run: the simulator's own.
struct Machine {
  CostModel truth = plain_costs();
  Cluster cluster = [] {
    Cluster c = small_cluster();
    c.nodes = 4;
    c.inter_node = {2.5e8, 0};
    return c;
  }();
  moe::Groups groups = groups_of(cluster, moe::Layout{1, 4, 1});
  moe::Model model = calibrated_model();
  moe::Program program = moe::build_iteration(model, groups, 0);
  std::vector<moe::Program> scheduled;
  Slowdowns slowed;                    ///< of the ranks; empty: all compute as the fits say
  std::vector<moe::Routing> routings;  ///< [iteration] of run()

  Machine() {
    set_speed(truth.interference, "computation_beside_communication", 0.8);
    set_speed(truth.interference, "communication_beside_computation", 0.9);
    truth.gaps.launch_s = 20e-6;
  }

  moe::Schedule cut_on_one_stream(int chunks) const {
    moe::Schedule schedule = pipeline_schedule(program, "", {chunks, chunks});
    std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
      return std::holds_alternative<moe::StreamAssignment>(decision);
    });
    return schedule;
  }

  moe::Timeline timeline_of(const moe::Program& one, const moe::Routing& routing,
                            const CostModel& costs) const {
    ProgramCosts of_ranks = program_costs(one, groups, routing, costs, cluster);
    if (!slowed.empty()) set_slowdowns(slowed, of_ranks);
    return simulate(one, of_ranks, costs, cluster);
  }

  std::vector<MeasuredIteration> run(std::vector<moe::Schedule> schedules) {
    scheduled.clear();
    for (const auto& schedule : schedules) scheduled.push_back(moe::apply(program, schedule));
    std::vector<MeasuredIteration> iterations;
    for (const auto& one : scheduled) {
      for (unsigned step = 0; step < 3; ++step) {
        moe::Routing routing;
        for (int layer : {0, 1}) {
          routing.layers.push_back(moe::zipf_routing(layer, 4, 8, 4 * 64, 0.3, step + 1));
        }
        iterations.push_back({&one, routing, timeline_of(one, routing, truth)});
        routings.push_back(routing);
      }
    }
    return iterations;
  }
};

TEST(Calibrate, FindsTheCostsOfTheMachineThatRan) {
  Machine machine;
  const CostModel found = calibrate(
      machine.run(
          {{}, machine.cut_on_one_stream(4), pipeline_schedule(machine.program, "", {2, 2})}),
      "cpu");
  for (const char* key : {"gemm", "memory"}) {
    EXPECT_NEAR(found.fits.at(key).alpha_s, machine.truth.fits.at(key).alpha_s, 1e-8) << key;
    EXPECT_NEAR(found.fits.at(key).beta_s_per_unit, machine.truth.fits.at(key).beta_s_per_unit,
                1e-13)
        << key;
  }
  EXPECT_NEAR(found.fits.at("all_to_all/inter_node").beta_s_per_unit, 5e-9, 2e-10);
  EXPECT_NEAR(found.fits.at("all_to_all/inter_node").alpha_s, 3e-4, 2e-5);
  EXPECT_NEAR(speed_of(found.interference, Occupation::computation, Occupation::inter_node), 0.8,
              0.02);
  EXPECT_NEAR(speed_of(found.interference, Occupation::inter_node, Occupation::computation), 0.9,
              0.05);
  EXPECT_NEAR(found.gaps.launch_s, 20e-6, 1e-9);
}

TEST(Calibrate, ALaunchGapIsTheMedianOverAllStarts) {
  SmallLayer layer = small_layer();
  layer.program.groups = two_nodes();
  const moe::Program program = moe::apply(
      layer.program, {"", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}});
  // Each op waits for the one before it, on its own stream or on another one.
  const std::vector<double> gaps_s{0.07, 0.01, 0.05, 0.02, 0.03, 0.06, 90};
  ASSERT_EQ(program.ops.size(), gaps_s.size());
  std::vector<moe::OpSpan> spans;
  double end_s = 0;
  for (std::size_t op = 0; op < gaps_s.size(); ++op) {
    spans.push_back({static_cast<int>(op), end_s + gaps_s[op], 1});
    end_s = spans.back().start_s + 1;
  }
  MeasuredIteration iteration{&program, small_routing({{500, 500}, {500, 500}}), {}};
  iteration.timeline.duration_s = end_s;
  iteration.timeline.ranks = {spans, spans};
  EXPECT_NEAR(calibrate({&iteration, 1}, "cpu").gaps.launch_s, 0.05, 1e-9);
  const CostParts without = CostParts().without(CostPart::launch_gaps);
  EXPECT_EQ(calibrate({&iteration, 1}, "cpu", {}, without).gaps.launch_s, 0);
}

TEST(Calibrate, LeavesOutCallsWhoseRowsHadArrivedBefore) {
  Machine machine;
  std::vector<MeasuredIteration> iterations = machine.run({{}, machine.cut_on_one_stream(4)});
  const auto fit_of = [&] { return calibrate(iterations, "cpu").fits.at("all_to_all/inter_node"); };
  const LinearFit before = fit_of();
  MeasuredIteration& sequential = iterations[2];
  for (std::size_t i = 0; i < sequential.program->ops.size(); ++i) {
    const moe::Op& op = sequential.program->ops[i];
    if (!std::holds_alternative<moe::AllToAll>(op.kind) || op.layer != 0) continue;
    double last_start_s = 0;
    for (const auto& spans : sequential.timeline.ranks) {
      last_start_s = std::max(last_start_s, spans[i].start_s);
    }
    for (auto& spans : sequential.timeline.ranks) {
      spans[i].start_s = last_start_s;
      spans[i].duration_s = 1e-6;
    }
  }
  const LinearFit found = fit_of();
  EXPECT_EQ(found.outliers, 1);
  EXPECT_NEAR(found.alpha_s, before.alpha_s, 0.1 * before.alpha_s);
  EXPECT_NEAR(found.beta_s_per_unit, before.beta_s_per_unit, 0.05 * before.beta_s_per_unit);
}

TEST(Calibrate, FindsWhatMessagesNeedNotWaitFor) {
  // Ranks come to their exchanges at other times, because their loads and their speeds differ.
  Machine machine;
  machine.truth.fits.at("all_to_all/inter_node").alpha_s = 1e-5;
  machine.truth.slowdowns = {};
  machine.truth.buffers = {40'000, 50'000};
  machine.slowed = {1, 2, 1, 1.5};
  const std::vector<MeasuredIteration> iterations =
      machine.run({{}, machine.cut_on_one_stream(2), machine.cut_on_one_stream(4)});
  const CostModel found = calibrate(iterations, "cpu");
  EXPECT_NEAR(found.buffers.leaving_bytes, 40'000, 12'000);
  EXPECT_NEAR(found.buffers.ahead_bytes, 50'000, 15'000);
  CostModel exchanges = machine.truth;
  exchanges.buffers = found.buffers;
  exchanges.fits["all_to_all/inter_node"] = found.fits.at("all_to_all/inter_node");
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const double measured_s = iterations[i].timeline.duration_s;
    const moe::Timeline again =
        machine.timeline_of(*iterations[i].program, machine.routings[i], exchanges);
    EXPECT_NEAR(again.duration_s, measured_s, 0.02 * measured_s);
  }
}

TEST(Calibrate, FindsNoBuffersWhereExchangesBeginAndEndAsOne) {
  Machine machine;
  machine.slowed = {1, 2, 1, 1.5};
  const CostModel found = calibrate(machine.run({{}, machine.cut_on_one_stream(4)}), "cpu");
  EXPECT_FALSE(found.buffers.any());
}

TEST(Calibrate, FindsHowLongSmallMessagesWaitForLargeOnes) {
  Machine machine;
  machine.truth.fits.at("all_to_all/inter_node").alpha_s = 1e-6;
  machine.truth.gaps.queued_s = 150e-6;
  moe::Schedule in_parts = pipeline_schedule(machine.program, "", {1, 1});
  for (const int layer : {0, 1}) in_parts.decisions.push_back(moe::PartitionRange{layer, 2, 0, 0});
  const CostModel found =
      calibrate(machine.run({{}, machine.cut_on_one_stream(4), in_parts}), "cpu");
  EXPECT_NEAR(found.gaps.queued_s, 150e-6, 15e-6);
  // Those that waited do not count as alone.
  const CostModel of_others = calibrate(machine.run({{}, machine.cut_on_one_stream(4)}), "cpu");
  const auto seconds = [](const CostModel& costs) {
    const LinearFit& fit = costs.fits.at("exchange_counts/inter_node");
    return seconds_of(fit, 1, fit.max_units);
  };
  EXPECT_NEAR(seconds(found), seconds(of_others), 1e-3 * seconds(of_others));
  EXPECT_EQ(of_others.gaps.queued_s, 0);
}

TEST(Calibrate, KnowsThatSmallMessagesWaitUntilLargeOnesHaveLeft) {
  // The queue holds more than any call sends, so every wait ends with the larger call.
  Machine machine;
  machine.truth.fits.at("all_to_all/inter_node").alpha_s = 1e-6;
  machine.truth.gaps.queued_s = 1;
  const auto in_parts = [&](int parts) {
    moe::Schedule schedule = pipeline_schedule(machine.program, "", {1, 1});
    for (const int layer : {0, 1}) {
      schedule.decisions.push_back(moe::PartitionRange{layer, parts, 0, 0});
    }
    return schedule;
  };
  const CostModel found =
      calibrate(machine.run({{}, machine.cut_on_one_stream(4), in_parts(2), in_parts(4)}), "cpu");
  moe::Routing routing;
  for (int layer : {0, 1}) routing.layers.push_back(moe::zipf_routing(layer, 4, 8, 256, 0.3, 9));
  const auto seconds = [&](double queued_s) {
    CostModel costs = machine.truth;
    costs.gaps.queued_s = queued_s;
    const auto program = moe::apply(machine.program, in_parts(2));
    return simulate(program, machine.groups, routing, costs, machine.cluster).duration_s;
  };
  EXPECT_NEAR(seconds(found.gaps.queued_s), seconds(1), 2e-4 * seconds(1));
  EXPECT_LT(seconds(found.gaps.queued_s / 2), 0.999 * seconds(1)) << "the wait matters here";
}

TEST(Calibrate, TakesNoExchangeOfCountsBeforeARule) {
  Machine machine;
  machine.truth.fits["moonep"] = line(0.5, 0);
  moe::Schedule moonep;
  for (const int layer : {0, 1}) {
    moe::ReplicateExperts decision{layer, {}};
    decision.placement.rows_of_others = moe::RowsOfOthers::balanced;
    decision.placement.late = {moe::LateRule::moonep, 2};
    moonep.decisions.push_back(decision);
  }
  const char* const key = "exchange_counts/inter_node";
  const CostModel with_rule = calibrate(machine.run({{}, moonep}), "cpu");
  const CostModel plain = calibrate(machine.run({{}}), "cpu");
  EXPECT_EQ(with_rule.fits.at(key).samples, plain.fits.at(key).samples);
  EXPECT_LT(with_rule.fits.at(key).alpha_s + with_rule.fits.at(key).beta_s_per_unit * 1000, 0.1);
}

TEST(Calibrate, PredictsSchedulesItHasNotSeen) {
  Machine machine;
  const CostModel found = calibrate(
      machine.run(
          {{}, machine.cut_on_one_stream(4), pipeline_schedule(machine.program, "", {2, 2})}),
      "cpu");
  moe::Routing routing;
  for (int layer : {0, 1}) routing.layers.push_back(moe::zipf_routing(layer, 4, 8, 256, 0.3, 9));
  for (const Degrees degrees : {Degrees{1, 1}, {3, 3}, {4, 1}, {1, 4}, {3, 2}}) {
    const auto program =
        moe::apply(machine.program, pipeline_schedule(machine.program, "", degrees));
    const double truth =
        simulate(program, machine.groups, routing, machine.truth, machine.cluster).duration_s;
    const double predicted =
        simulate(program, machine.groups, routing, found, machine.cluster).duration_s;
    EXPECT_NEAR(predicted, truth, 0.03 * truth) << degrees.forward << " " << degrees.backward;
  }
}

TEST(Calibrate, FindsHowFastCopiesAreBesideOneOtherWhereSeveralSlowThemMore) {
  Machine machine;
  set_speed(machine.truth.interference, "copy_beside_computation", 0.7);
  set_speed(machine.truth.interference, "copy_beside_communication", 0.8);
  set_speed(machine.truth.interference, "copy_beside_all", 0.3);
  std::vector<moe::Schedule> schedules{
      {}, machine.cut_on_one_stream(4), pipeline_schedule(machine.program, "", {4, 4})};
  for (const ProfileSchedule& one : copy_profile_schedules(machine.program)) {
    schedules.push_back(one.schedule);
  }
  const CostModel found = calibrate(machine.run(schedules), "cpu");
  EXPECT_NEAR(speed_of(found.interference, Occupation::copy, Occupation::computation), 0.7, 0.03);
}

TEST(Calibrate, FindsWhatOpsCostAloneWhereRanksShareProcessors) {
  Machine machine;
  machine.cluster.shared_processors = {{1.5, {0, 1, 2, 3}}};
  const auto measured = machine.run(
      {{}, machine.cut_on_one_stream(4), pipeline_schedule(machine.program, "", {2, 2})});
  const CostModel found = calibrate(measured, "cpu", machine.cluster.shared_processors);
  EXPECT_NEAR(found.fits.at("gemm").beta_s_per_unit, machine.truth.fits.at("gemm").beta_s_per_unit,
              0.02 * machine.truth.fits.at("gemm").beta_s_per_unit);
  // Whoever does not know of it takes sharing for slowness.
  const CostModel misled = calibrate(measured, "cpu");
  EXPECT_GT(misled.fits.at("gemm").beta_s_per_unit,
            1.5 * machine.truth.fits.at("gemm").beta_s_per_unit);
}

TEST(Calibrate, FindsWhatRanksThatShareExpertsExchangeByItsOwnFits) {
  Machine machine;
  machine.cluster.nodes = machine.cluster.ranks_per_node = 2;
  machine.groups = groups_of(machine.cluster, moe::Layout{1, 2, 2});
  machine.program = moe::build_iteration(machine.model, machine.groups, 0);
  const auto with_fit = [&](const char* key, double alpha, double beta) {
    machine.truth.fits[key].alpha_s = alpha;
    machine.truth.fits[key].beta_s_per_unit = beta;
  };
  with_fit("gather_rows/intra_node", 1e-4, 2e-9);
  with_fit("scatter_rows/intra_node", 2e-4, 3e-9);
  with_fit("all_to_all/intra_node", 9e-4, 9e-9);
  const CostModel found =
      calibrate(machine.run({{},
                             machine.cut_on_one_stream(4),
                             pipeline_schedule(machine.program, "", {2, 2}, InNode::beside)}),
                "cpu");
  EXPECT_FALSE(found.fits.contains("all_to_all/intra_node")) << "nothing of the kind ran";
  for (const char* key : {"gather_rows/intra_node", "scatter_rows/intra_node"}) {
    const LinearFit &truth = machine.truth.fits.at(key), &fit = found.fits.at(key);
    EXPECT_NEAR(fit.alpha_s, truth.alpha_s, 0.05 * truth.alpha_s) << key;
    EXPECT_NEAR(fit.beta_s_per_unit, truth.beta_s_per_unit, 0.05 * truth.beta_s_per_unit) << key;
  }
}

TEST(Observe, TellsWhatALinkInsideANodeCarriedAtLeastBesideTheNetwork) {
  Machine machine;
  machine.cluster.nodes = 2;
  machine.cluster.ranks_per_node = 2;
  machine.cluster.intra_node = {1e9, 0};
  machine.groups = groups_of(machine.cluster, moe::Layout{1, 4, 1});
  machine.program = moe::build_iteration(machine.model, machine.groups, 0);
  machine.truth.fits["all_to_all/intra_node"] = machine.truth.fits.at("all_to_all/inter_node");
  const Observations seen = observe(machine.run({{}}), {}, "cpu");
  for (const auto& [key, calls] : seen.calls) EXPECT_THAT(key, ::testing::EndsWith("/inter_node"));
  EXPECT_GT(seen.least_intra_node_bytes_per_s, 1e7);
  EXPECT_LE(seen.least_intra_node_bytes_per_s, 1e9);
}

TEST(CalibrateErrors, RefusesNothingAndWhatDoesNotFit) {
  Machine machine;
  EXPECT_THROW(calibrate({}, "cpu"), std::invalid_argument);
  auto iterations = machine.run({{}});
  iterations[0].timeline.ranks[1].pop_back();
  EXPECT_THROW(calibrate(iterations, "cpu"), std::invalid_argument);
}

}  // namespace
}  // namespace tuner::calibrate_test
