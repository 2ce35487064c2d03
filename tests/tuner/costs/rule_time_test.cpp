#include "tuner/costs/rule_time.h"

#include <gtest/gtest.h>

#include "moe/passes/schedule.h"
#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/costs/op_costs.h"
#include "tuner/costs/used_fits.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::rule_time_test {
namespace {

using test::SkewedSituation;

moe::ReplicateExperts after_gate(int layer, moe::LateRule rule) {
  moe::ReplicateExperts decision;
  decision.layer = layer;
  decision.placement.rows_of_others = moe::RowsOfOthers::balanced;
  decision.placement.late = {rule, 2};
  return decision;
}

moe::Program scheduled(const SkewedSituation& skewed, moe::LateRule rule) {
  moe::Program program = skewed.program;
  for (const moe::LayerRouting& layer : skewed.routing.layers) {
    program = moe::apply(program, after_gate(layer.layer, rule));
  }
  return program;
}

/// The startups of all exchanges of counts.
double startups_s(const SkewedSituation& skewed, const moe::Program& program) {
  const ProgramCosts costs =
      program_costs(program, skewed.groups, skewed.routing, skewed.costs, skewed.cluster);
  double sum_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (moe::binds_routing(program.ops[i])) sum_s += costs.ops[i].calls.at(0).alpha_s;
  }
  return sum_s;
}

TEST(RuleTime, IsThatOfTheNameOfTheRule) {
  moe::ExpertPlacement placement;
  EXPECT_EQ(rule_of(placement), "");
  placement.rows_of_others = moe::RowsOfOthers::balanced;
  EXPECT_EQ(rule_of(placement), "") << "nothing to share out";
  placement.replicas = {{0, {1}}};
  EXPECT_EQ(rule_of(placement), "balanced");
  placement.balanced_by = moe::BalancedBy::interior_point;
  EXPECT_EQ(rule_of(placement), "interior_point");
  placement = {};
  placement.late = {moe::LateRule::llep, 2};
  EXPECT_EQ(rule_of(placement), "llep");
}

TEST(RuleTime, GrowsWithRanksAndExperts) {
  for (const std::string_view rule : kRules) {
    EXPECT_LT(rule_seconds({}, rule, 256), rule_seconds({}, rule, 65536));
    EXPECT_LT(rule_seconds({}, rule, 65536), 1e-3);
    EXPECT_LT(rule_seconds({}, rule, 65536), rule_seconds({}, rule, 1 << 20));
  }
  EXPECT_EQ(rule_seconds({}, "", 65536), 0);
  EXPECT_EQ(counted_bytes(8, moe::make_groups(moe::Layout{2, 4, 1})), 4 * 4 * 8);
}

TEST(RuleTime, DelaysWhatWaitsForTheCounts) {
  SkewedSituation skewed;
  const double plain_s = startups_s(skewed, skewed.program);
  const double layers = static_cast<double>(skewed.routing.layers.size());
  const double bytes = counted_bytes(8, skewed.groups);
  const moe::Program moonep = scheduled(skewed, moe::LateRule::moonep);
  EXPECT_NEAR(startups_s(skewed, moonep) - plain_s, layers * rule_seconds({}, "moonep", bytes),
              1e-12);
  skewed.costs.fits["moonep"] = {.alpha_s = 0.5, .beta_s_per_unit = 0.25, .unit = "byte"};
  EXPECT_NEAR(startups_s(skewed, moonep) - plain_s, layers * (0.5 + 0.25 * bytes), 1e-9);
}

TEST(RuleTime, ThatTheClusterDeclaresIsNamedAmongTheFits) {
  SkewedSituation skewed;
  skewed.costs.fits["moonep"] = {.alpha_s = 0.5, .unit = "byte"};
  skewed.costs.fits["llep"] = {.alpha_s = 0.5, .unit = "byte"};
  const moe::Program moonep = scheduled(skewed, moe::LateRule::moonep);
  const auto costs =
      program_costs(moonep, skewed.groups, skewed.routing, skewed.costs, skewed.cluster);
  const FitUse use = fit_use(skewed.costs, moonep, costs.ops);
  EXPECT_TRUE(use.used.contains("moonep"));
  EXPECT_FALSE(use.used.contains("llep"));
}

}  // namespace
}  // namespace tuner::rule_time_test
