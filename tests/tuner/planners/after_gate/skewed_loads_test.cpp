#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "moe/rows/balance.h"
#include "moe/rows/row_shares.h"
#include "tuner/planners/lplb/lplb.h"
#include "tuner/planners/placement/placed_loads.h"

/// Rules after the gate on loads as skewed as those of a training without a balancing loss: on 16
/// ranks with 2 experts each, the fullest rank has 6 times the mean.
namespace tuner::skewed_loads_test {
namespace {

constexpr int kRanks = 16, kExperts = 32, kLayers = 288;
constexpr std::int64_t kRows = 8192;  ///< of a rank

/// Popularity ~ exp(skew x normal), the same from all ranks but for 20% of noise. No expert has more
/// than half of the rows, as two are chosen for each token.
moe::LayerRouting drawn_layer(std::mt19937& random, double skew) {
  std::normal_distribution<double> normal;
  std::vector<double> popularity(kExperts);
  for (double& one : popularity) one = std::exp(skew * normal(random));
  moe::LayerRouting layer{0, kExperts, {}};
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<double> weights = popularity;
    for (double& weight : weights) weight *= std::exp(0.2 * normal(random));
    layer.tokens.push_back(moe::weighted_routing(0, 1, weights, kRows, kRows / 2).tokens.front());
  }
  return layer;
}

double median_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + values.size() / 2);
  return values[values.size() / 2];
}

moe::ExpertPlacement after_gate(const moe::LateCopies& late) {
  return {{}, moe::RowsOfOthers::balanced, {}, {}, late};
}

TEST(AfterGate, EvensLoadsThatAreSixTimesTheMean) {
  const moe::Groups groups = moe::make_groups(kRanks, kRanks);
  std::mt19937 random(1);
  std::vector<double> before, lplb, llep, ultraep_1, ultraep_2, moonep;
  for (int i = 0; i < kLayers; ++i) {
    const moe::LayerRouting layer = drawn_layer(random, 2.1);
    const auto over_mean = [&](const moe::ExpertPlacement& placement) {
      return max_over_mean(moe::rank_tokens(layer, groups, placement));
    };
    before.push_back(over_mean({}));
    lplb.push_back(over_mean(lplb_placement(grouped_rows(layer, groups), cube_owners(kRanks))));
    llep.push_back(over_mean(after_gate({moe::LateRule::llep, 5, 1.1, 1024})));
    ultraep_1.push_back(over_mean(after_gate({moe::LateRule::ultraep, 1})));
    ultraep_2.push_back(over_mean(after_gate({moe::LateRule::ultraep, 2})));
    moonep.push_back(over_mean(after_gate({moe::LateRule::moonep, 2})));
  }
  std::string figures;
  const auto expect = [&](const char* name, const std::vector<double>& values, double most) {
    EXPECT_LE(median_of(values), most) << name;
    figures += fmt::format("{} {:.2f} (worst {:.2f}), ", name, median_of(values),
                           std::ranges::max(values));
  };
  EXPECT_NEAR(median_of(before), 6, 0.3);
  expect("none", before, 6.3);
  expect("lplb", lplb, 3.2);
  expect("llep", llep, 1.35);
  expect("ultraep 1", ultraep_1, 1.30);
  expect("ultraep 2", ultraep_2, 1.05);
  expect("moonep", moonep, 1.005);
  RecordProperty("max_over_mean", figures);
  fmt::print("{}\n", figures);
}

}  // namespace
}  // namespace tuner::skewed_loads_test
