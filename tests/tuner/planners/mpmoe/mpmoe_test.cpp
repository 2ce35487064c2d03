#include "tuner/planners/mpmoe/mpmoe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "moe/model/iteration.h"
#include "tests/tuner/planners/even_situation.h"
#include "tuner/planners/mpmoe/memory_reuse.h"
#include "tuner/planners/mpmoe/performance_model.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::mpmoe_test {
namespace {

using mpmoe::kStrategies;
using ::testing::HasSubstr;

moe::Model wide_layers() {
  moe::Model model = test::two_moe_layers();
  model.global_batch = model.capacity_groups = 16;
  model.d_hidden = 512;
  return model;
}

struct MpmoeTest : ::testing::Test, test::EvenSituation {
  MpmoeTest() : EvenSituation(wide_layers(), 2, {1e9, 1e-6}) {}

  std::int64_t peak(const moe::Schedule& schedule) const {
    return planned_peak_bytes(moe::apply(program, schedule), groups, routing);
  }
};

TEST_F(MpmoeTest, TakesWhatIsFastestByItsModelOrByProfiles) {
  double least_modelled = std::numeric_limits<double>::infinity();
  for (const auto& strategy : kStrategies) {
    for (int n = 1; n <= 8; ++n) {
      const auto schedule = mpmoe::reuse_schedule(program, "any", n, strategy);
      least_modelled =
          std::min(least_modelled, mpmoe::modelled_iteration_s(situation, schedule.value()));
    }
  }
  EXPECT_DOUBLE_EQ(mpmoe::modelled_iteration_s(situation, plan_mpmoe_pm(situation, {})),
                   least_modelled);

  // A profile that favours S3 in 5.
  std::set<std::string> asked;
  situation.measure = [&](const moe::Schedule& schedule) {
    asked.insert(moe::decisions_json(schedule));
    const int n = degrees_of(schedule).forward;
    return (n - 5) * (n - 5) + (mpmoe::strategy_of(schedule) == "S3" ? 1.0 : 2.0);
  };
  const moe::Schedule chosen = plan_mpmoe_pb(situation, {});
  EXPECT_EQ(mpmoe::strategy_of(chosen), "S3");
  EXPECT_EQ(degrees_of(chosen), (Degrees{5, 5}));
  EXPECT_EQ(asked.size(), 4u * 6u);  // 1 to 6, where it rises
}

TEST_F(MpmoeTest, AsReleasedItSearchesFromTwoPartitionsOnByForwardPasses) {
  PlannerOptions released;
  released.asked[kReleasedSearch.key] = 1;
  for (const double latency_s : {1e-6, 1e-2}) {
    cluster.inter_node.latency_s = latency_s;
    const moe::Schedule ours = plan_mpmoe_pb(situation, {});
    const moe::Schedule theirs = plan_mpmoe_pb(situation, released);
    const double ours_s = simulated_s(situation, ours), theirs_s = simulated_s(situation, theirs);
    const std::string line =
        fmt::format("latency {} s: {} in {} partitions, {:.3f} of the time with ours, {} in {}",
                    latency_s, mpmoe::strategy_of(theirs), degrees_of(theirs).forward,
                    theirs_s / ours_s, mpmoe::strategy_of(ours), degrees_of(ours).forward);
    fmt::print("{}\n", line);
    EXPECT_GE(degrees_of(theirs).forward, 2) << line;
    EXPECT_GE(theirs_s, ours_s * (1 - 1e-9)) << line;
  }
  EXPECT_EQ(degrees_of(plan_mpmoe_pb(situation, {})).forward, 1) << "where starts cost so much";
}

TEST_F(MpmoeTest, SlowCopiesMakeItCommunicateAndRecompute) {
  costs.fits["offload_rows"].beta_s_per_unit = costs.fits["fetch_rows"].beta_s_per_unit = 1e-6;
  EXPECT_EQ(mpmoe::strategy_of(plan_mpmoe_pm(situation, {})), "S4");
  EXPECT_EQ(mpmoe::strategy_of(plan_mpmoe_pb(situation, {})), "S4");
  costs.fits["offload_rows"].beta_s_per_unit = costs.fits["fetch_rows"].beta_s_per_unit = 1e-14;
  cluster.inter_node.bandwidth_bytes_per_s = 1e6;
  for (const auto plan : {plan_mpmoe_pm, plan_mpmoe_pb}) {
    const auto restoring = moe::decisions_of<moe::RestoreActivation>(plan(situation, {}));
    ASSERT_FALSE(restoring.empty());
    EXPECT_EQ(restoring[0].dispatched, moe::RestoreDispatched::offload);
  }
}

TEST_F(MpmoeTest, MemoryChoosesWhereTheFastestDoesNotFit) {
  // Copies so slow that nothing is offloaded.
  costs.fits["offload_rows"].beta_s_per_unit = costs.fits["fetch_rows"].beta_s_per_unit = 1e-6;
  for (const auto plan : {plan_mpmoe_pm, plan_mpmoe_pb}) {
    cluster.memory_bytes = 0;
    const std::int64_t wanted = peak(plan(situation, {}));
    cluster.memory_bytes = wanted;
    EXPECT_EQ(peak(plan(situation, {})), wanted);
    cluster.memory_bytes = 1;  // nothing fits: the least there is
    const std::int64_t least = peak(plan(situation, {}));
    cluster.memory_bytes = wanted - 1;
    EXPECT_LE(peak(plan(situation, {})), std::max(wanted - 1, least));
    for (const Candidate& candidate : mpmoe_pm_candidates(situation, {})) {
      EXPECT_LE(least, peak(candidate.schedule)) << candidate.parameters_json;
    }
  }
}

TEST_F(MpmoeTest, CandidatesAreStrategiesInTwoFourAndEightPartitions) {
  const auto candidates = candidates_of(planner_named("mpmoe_pb"), situation, {});
  EXPECT_GE(candidates.size(), 12u);
  EXPECT_LE(candidates.size(), 13u);
  EXPECT_EQ(candidates[1].parameters_json,
            R"({"forward_chunks": 4, "backward_chunks": 4, "strategy": "S1"})");
  EXPECT_THAT(mpmoe_remark(situation, {}, candidates[1].schedule), HasSubstr("S1 in 4 partitions"));
}

TEST_F(MpmoeTest, MicroProfilesChooseWhereThereAreAnyAndOnlyOfWhatFits) {
  const auto favours_s2_in_3 = [](const moe::Schedule& schedule) {
    return std::abs(degrees_of(schedule).forward - 3) +
           (mpmoe::strategy_of(schedule) == "S2" ? 1.0 : 2.0);
  };
  const std::string simulated = mpmoe_remark(situation, {}, plan_mpmoe_pb(situation, {}));
  EXPECT_THAT(simulated, HasSubstr("chosen by simulation"));
  std::int64_t largest = 0;
  situation.measure = [&](const moe::Schedule& schedule) {
    largest = std::max(largest, peak(schedule));
    return favours_s2_in_3(schedule);
  };
  const auto candidates = candidates_of(planner_named("mpmoe_pb"), situation, {});
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].parameters_json,
            R"({"forward_chunks": 3, "backward_chunks": 3, "strategy": "S2"})");
  EXPECT_THAT(mpmoe_remark(situation, {}, candidates[0].schedule), HasSubstr("S2 in 3 partitions"));
  EXPECT_THAT(mpmoe_remark(situation, {}, candidates[0].schedule),
              HasSubstr("chosen by micro-profiles"));
  EXPECT_EQ(plan_mpmoe_pm(situation, {}).planner, "mpmoe_pm");

  const std::int64_t chosen = peak(candidates[0].schedule);
  ASSERT_GT(largest, chosen);
  cluster.memory_bytes = chosen;
  largest = 0;
  EXPECT_LE(peak(plan_mpmoe_pb(situation, {})), chosen);
  EXPECT_LE(largest, chosen) << "what cannot run was run";
}

TEST_F(MpmoeTest, WithoutLayersThatCanShareItPlansAsPmoe) {
  const moe::Groups shared = groups_of(cluster, moe::Layout{1, 1, 2});
  const moe::Program whole = moe::build_iteration(model, shared, 0);
  const Situation other{whole, shared, routing, costs, cluster};
  for (const auto plan : {plan_mpmoe_pm, plan_mpmoe_pb}) {
    const moe::Schedule schedule = plan(other, {});
    EXPECT_EQ(schedule.decisions, plan_pmoe(other, {}).decisions);
    EXPECT_THAT(mpmoe_remark(other, {}, schedule), HasSubstr("planned as pmoe"));
  }
}

TEST_F(MpmoeTest, PmoeTakesTheBestDegreeUpToTheTurningPoint) {
  const moe::Schedule schedule = plan_pmoe(situation, {});
  const int n = degrees_of(schedule).forward;
  EXPECT_EQ(degrees_of(schedule), (Degrees{n, n}));
  const auto seconds = [&](int chunks) {
    return simulated_s(situation, pipeline_schedule(program, "pmoe", {chunks, chunks}));
  };
  EXPECT_LE(seconds(n), seconds(1));
  if (n < 8) {
    EXPECT_LE(seconds(n), seconds(n + 1));
  }
}

}  // namespace
}  // namespace tuner::mpmoe_test
