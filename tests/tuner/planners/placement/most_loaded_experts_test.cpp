#include "tuner/planners/placement/most_loaded_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "moe/rows/expert_slots.h"
#include "tests/tuner/planners/drawn_rows.h"
#include "tuner/planners/placement/placed_loads.h"

namespace tuner::most_loaded_experts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MostLoaded, OrdersByLoadThenPosition) {
  const std::vector<std::int64_t> loads{3, 9, 0, 9, std::int64_t{1} << 42};
  EXPECT_THAT(most_loaded(loads), ElementsAre(4, 1, 3, 0, 2));
  EXPECT_THAT(most_loaded({}), IsEmpty());
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::int64_t> drawn(random() % 70);
    for (auto& load : drawn) load = static_cast<std::int64_t>(random() % 20);
    std::vector<int> expected(drawn.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](int a, int b) {
      return drawn[static_cast<std::size_t>(a)] > drawn[static_cast<std::size_t>(b)];
    });
    EXPECT_EQ(most_loaded(drawn), expected);
  }
}

TEST(OnAllMembers, IsEverybodyButTheHome) {
  const auto placement = on_all_members(std::vector{5, 0}, moe::homes_in_order(6, 3), 3);
  EXPECT_THAT(placement.replicas,
              ElementsAre(moe::ReplicatedExpert{0, {1, 2}}, moe::ReplicatedExpert{5, {0, 1}}));
  EXPECT_EQ(placement.rows_of_others, moe::RowsOfOthers::home);
  EXPECT_THAT(on_all_members(std::vector{0}, moe::homes_in_order(4, 1), 1).replicas, IsEmpty());
}

TEST(OnAllMembers, NoRowOfTheExpertTravels) {
  std::mt19937 random(2);
  const moe::Groups groups = moe::make_groups(4, 4);
  const auto routing = test::draw_rows(random, 4, 8);
  std::vector<int> all(8);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(
      placed_loads(routing, groups, on_all_members(all, moe::homes_in_order(8, 4), 4)).received,
      ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace tuner::most_loaded_experts_test
