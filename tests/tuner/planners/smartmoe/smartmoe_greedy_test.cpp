#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "moe/rows/expert_slots.h"
#include "tuner/planners/placement/packed_homes.h"
#include "tuner/planners/smartmoe/smartmoe.h"

namespace tuner::smartmoe_greedy_test {
namespace {

using ::testing::ElementsAre;

TEST(SmartMoeGreedy, WorkedByHand) {
  // 9 to member 0, 8 to 1, 3 to 1 which has less, so that 1 is full: 2 to 0. 11 and 11 instead of
  // 17 and 5.
  const std::vector<int> in_order{0, 0, 1, 1};
  EXPECT_THAT(smartmoe_homes(std::vector<std::int64_t>{9, 8, 3, 2}, in_order, 2),
              ElementsAre(0, 1, 1, 0));
  // Nothing is gained: 5 and 5 already, here or there.
  EXPECT_THAT(smartmoe_homes(std::vector<std::int64_t>{1, 4, 4, 1}, in_order, 2), in_order);
  EXPECT_THAT(smartmoe_homes(std::vector<std::int64_t>{1, 4, 1, 4}, {1, 0, 0, 1}, 2),
              ElementsAre(1, 0, 0, 1));
}

moe::ExpertHomes in_order(const std::vector<std::int64_t>& loads, int members) {
  return moe::homes_in_order(static_cast<int>(loads.size()), members);
}

std::int64_t largest_load(const std::vector<std::int64_t>& loads, const std::vector<int>& homes,
                          int members) {
  const auto of_members = loads_of_members(loads, homes, members);
  return *std::max_element(of_members.begin(), of_members.end());
}

/// The least largest load of all ways to give every member as many experts.
std::int64_t least_largest(const std::vector<std::int64_t>& loads, int members) {
  std::vector<int> homes = in_order(loads, members);
  std::int64_t least = largest_load(loads, homes, members);
  while (std::next_permutation(homes.begin(), homes.end())) {
    least = std::min(least, largest_load(loads, homes, members));
  }
  return least;
}

TEST(SmartMoeGreedy, NeverRaisesTheLargestLoadAndIsNearTheLeast) {
  std::mt19937 random(1);
  double ratios = 0, worst = 0, before = 0;
  constexpr int layers = 300;
  for (int i = 0; i < layers; ++i) {
    const int members = 1 + static_cast<int>(random() % 4);
    const int each = 1 + static_cast<int>(random() % (members < 4 ? 3 : 2));
    std::vector<std::int64_t> loads(static_cast<std::size_t>(members * each));
    for (auto& load : loads) {
      load = 1 + static_cast<std::int64_t>(random() % (random() % 3 == 0 ? 300 : 40));
    }
    const auto homes = smartmoe_homes(loads, in_order(loads, members), members);
    for (int member = 0; member < members; ++member) {
      EXPECT_EQ(std::count(homes.begin(), homes.end(), member), each);
    }
    const std::int64_t at_first = largest_load(loads, in_order(loads, members), members);
    const std::int64_t now = largest_load(loads, homes, members);
    EXPECT_LE(now, at_first);
    const auto least = static_cast<double>(least_largest(loads, members));
    ratios += static_cast<double>(now) / least;
    worst = std::max(worst, static_cast<double>(now) / least);
    before += static_cast<double>(at_first) / least;
  }
  const std::string summary = fmt::format(
      "largest load {:.3f} of the least that is possible on average, {:.2f} at most; {:.2f} before",
      ratios / layers, worst, before / layers);
  fmt::print("{}\n", summary);
  EXPECT_LT(ratios / layers, 1.05) << summary;
  EXPECT_LT(worst, 4.0 / 3) << summary;
}

}  // namespace
}  // namespace tuner::smartmoe_greedy_test
