#include "tuner/study/compute_slowdown.h"

#include <gtest/gtest.h>

namespace tuner::compute_slowdown_test {
namespace {

Observation alone(double units, double seconds) { return {{1, units, seconds}, {}}; }

Observation beside_another(double units, double seconds) {
  Observation observation = alone(units, seconds);
  observation.beside.any = 0.5 * seconds;
  return observation;
}

LinearFit of_unit(const char* unit, double beta_s_per_unit) {
  LinearFit fit;
  fit.unit = unit;
  fit.beta_s_per_unit = beta_s_per_unit;
  return fit;
}

/// linear: 1 s per flop; gelu: 0.5 s per byte; fetch_rows copies.
struct ComputeSlowdownTest : ::testing::Test {
  CostModel costs;
  Observations seen;

  ComputeSlowdownTest() {
    costs.fits["linear[4x4]"] = of_unit("flop", 1);
    costs.fits["gelu"] = of_unit("byte", 0.5);
    costs.fits["fetch_rows"] = of_unit("byte", 3);
    costs.fits["copy"] = of_unit("byte", 3);
    costs.fits["all_to_all/inter_node"] = of_unit("byte", 2);
    for (const std::string kind : {"linear", "gelu", "fetch_rows"}) {
      seen.by_flops[kind] = kind == "linear";
      seen.copies[kind] = kind == "fetch_rows";
    }
    seen.kind_of = {
        {"linear[4x4]", "linear"}, {"gelu[8]", "gelu"}, {"fetch_rows[8]", "fetch_rows"}};
  }
};

TEST_F(ComputeSlowdownTest, IsTheMedianOfOpsAloneWeighedBySeconds) {
  seen.compute["linear[4x4]"] = {alone(10, 12), alone(10, 12), alone(10, 90),
                                 beside_another(10, 500)};
  seen.compute["gelu[8]"] = {alone(20, 10)};
  seen.compute["fetch_rows[8]"] = {alone(1, 1000)};
  const auto ranks = against_costs(seen, costs, false);
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(ranks.at(0).by_flops, 1.2) << "the median, without the op beside another";
  EXPECT_DOUBLE_EQ(ranks.at(0).by_bytes, 1);
  EXPECT_DOUBLE_EQ(ranks.at(0).all, (30 * 1.2 + 10) / 40) << "copies are no computation";
}

TEST_F(ComputeSlowdownTest, IsOfTheRankThatWasSlowedMost) {
  seen.compute["linear[4x4]"] = {alone(10, 11), alone(10, 11), alone(10, 14), alone(10, 14)};
  for (int i : {2, 3}) seen.compute["linear[4x4]"][i].rank = 1;
  const auto ranks = against_costs(seen, costs, false);
  EXPECT_DOUBLE_EQ(compute_slowdown(ranks, {{0, {}}, {1, {}}})->all, 1.4);
  // The one that is always slower has not been slowed.
  EXPECT_DOUBLE_EQ(compute_slowdown(ranks, {{0, {1, 1, 1}}, {1, {1.4, 1.4, 1.4}}})->all, 1.1);
  EXPECT_FALSE(compute_slowdown(ranks, {{2, {}}}));
  EXPECT_DOUBLE_EQ(against_costs(seen, costs, true).at(0).all, 1.25) << "all ranks together";
}

TEST_F(ComputeSlowdownTest, CountsSumsWhereRanksShareProcessors) {
  seen.compute["linear[4x4]"] = {alone(10, 5), alone(10, 6), alone(10, 25)};
  EXPECT_DOUBLE_EQ(against_costs(seen, costs, true).at(0).by_flops, 36 / 30.0);
  EXPECT_DOUBLE_EQ(against_costs(seen, costs, true).at(0).by_bytes, 36 / 30.0) << "none of its own";
}

TEST_F(ComputeSlowdownTest, IsNoneWhereNoOpWasAlone) {
  seen.compute["linear[4x4]"] = {beside_another(10, 12)};
  EXPECT_TRUE(against_costs(seen, costs, false).empty());
  EXPECT_FALSE(compute_slowdown({}, {}));
}

TEST_F(ComputeSlowdownTest, SlowsComputationAlone) {
  const CostModel slow = slowed(costs, {1.5, 1.1, 1.4}, seen);
  EXPECT_DOUBLE_EQ(slow.fits.at("linear[4x4]").beta_s_per_unit, 1.5);
  EXPECT_DOUBLE_EQ(slow.fits.at("gelu").beta_s_per_unit, 0.55);
  for (const char* same : {"fetch_rows", "copy", "all_to_all/inter_node"}) {
    EXPECT_EQ(slow.fits.at(same), costs.fits.at(same)) << same;
  }
}

}  // namespace
}  // namespace tuner::compute_slowdown_test
