#include "tuner/costs/pace.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tuner::pace_test {
namespace {

LinearFit line(const char* unit, double alpha_s, double beta_s_per_unit) {
  LinearFit fit;
  fit.unit = unit;
  fit.alpha_s = alpha_s;
  fit.beta_s_per_unit = beta_s_per_unit;
  return fit;
}

/// linear takes 1 s per flop, gelu 0.5 s per byte; fetch_rows copies.
struct PaceTest : ::testing::Test {
  CostModel costs;

  PaceTest() {
    for (const char* key : {"linear[4x4]", "linear", "gemm"}) costs.fits[key] = line("flop", 2, 1);
    for (const char* key : {"gelu[8]", "gelu", "memory", "fetch_rows", "all_to_all/inter_node"}) {
      costs.fits[key] = line("byte", 0, 0.5);
    }
  }

  /// Ops of ten flops or bytes that took so many times as long as the fits say.
  static Observations seen(double linear, double gelu) {
    Observations seen;
    for (const std::string kind : {"linear", "gelu", "fetch_rows"}) {
      seen.by_flops[kind] = kind == "linear";
      seen.copies[kind] = kind == "fetch_rows";
    }
    seen.kind_of = {
        {"linear[4x4]", "linear"}, {"gelu[8]", "gelu"}, {"fetch_rows[8]", "fetch_rows"}};
    seen.compute["linear[4x4]"] = {{{1, 10, 12 * linear}, {}, 0}, {{1, 10, 12 * linear}, {}, 1}};
    seen.compute["gelu[8]"] = {{{1, 10, 5 * gelu}, {}, 1}};
    seen.compute["fetch_rows[8]"] = {{{1, 10, 5000}, {}, 0}};
    return seen;
  }
};

/// In which nothing ran alone.
Observations crowded() {
  Observations seen = PaceTest::seen(0.8, 0.8);
  for (auto& [shape, observations] : seen.compute) {
    for (Observation& one : observations) one.beside.any = one.sample.seconds;
  }
  return seen;
}

TEST_F(PaceTest, OfAMomentIsTheMedianOfItsIterations) {
  const std::vector<Observations> iterations{seen(0.8, 0.5), seen(0.1, 0.9), crowded(), seen(9, 9)};
  const RankSlowdown pace = pace_of(iterations, costs).value();
  EXPECT_DOUBLE_EQ(pace.by_flops, 0.8);
  EXPECT_DOUBLE_EQ(pace.by_bytes, 0.9);
  EXPECT_DOUBLE_EQ(pace.all, (24 * 0.8 + 5 * 0.5) / 29);
  EXPECT_EQ(pace_of(std::vector{crowded()}, costs), std::nullopt);
  EXPECT_EQ(pace_of({}, costs), std::nullopt);
}

TEST_F(PaceTest, OfPredictionsIsThatOfTheMedianMoment) {
  const std::vector<RankSlowdown> moments{{0.8, 0.5, 0.7}, {0.1, 0.9, 0.2}, {9, 9, 9}};
  EXPECT_DOUBLE_EQ(set_pace(moments, seen(1, 1), costs), 0.7);
  for (const char* key : {"linear[4x4]", "linear", "gemm"}) {
    EXPECT_DOUBLE_EQ(costs.fits.at(key).alpha_s, 1.6) << key;
    EXPECT_DOUBLE_EQ(costs.fits.at(key).beta_s_per_unit, 0.8) << key;
  }
  for (const char* key : {"gelu[8]", "gelu", "memory"}) {
    EXPECT_DOUBLE_EQ(costs.fits.at(key).beta_s_per_unit, 0.5 * 0.9) << key;
  }
  for (const char* key : {"fetch_rows", "all_to_all/inter_node"}) {
    EXPECT_EQ(costs.fits.at(key).beta_s_per_unit, 0.5) << key;
  }
}

TEST_F(PaceTest, CountsTheSlowdownsOfRanksOnce) {
  costs.slowdowns = {{{1.5, 1, 1.25}, {0.9, 1, 0.95}}, {{1.2, 2, 1.6}, {1.2, 2, 1.6}}};
  EXPECT_DOUBLE_EQ(set_pace(std::vector<RankSlowdown>{{2.4, 3, 2.7}}, seen(1, 1), costs), 2);
  EXPECT_DOUBLE_EQ(costs.fits.at("gemm").beta_s_per_unit, 2);
  EXPECT_DOUBLE_EQ(costs.fits.at("memory").beta_s_per_unit, 0.5 * 2);
}

TEST_F(PaceTest, StaysWithoutMoments) {
  const CostModel before = costs;
  EXPECT_EQ(set_pace({}, seen(1, 1), costs), 1);
  EXPECT_EQ(costs.fits, before.fits);
}

}  // namespace
}  // namespace tuner::pace_test
