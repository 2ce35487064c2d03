#include "tuner/planners/eplb/first_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "moe/rows/expert_slots.h"

namespace tuner::first_copies_test {
namespace {

using ::testing::ElementsAre;

TEST(FirstCopies, WorkedByHand) {
  // 0 and 3 stay. 1 is on member 1 alone, and 2 on both, which leaves it member 0.
  EXPECT_THAT(first_copies({{0, 1}, {1}, {0, 1}, {1}}, {0, 0, 1, 1}, 2), ElementsAre(0, 1, 0, 1));
  // 2 stays with member 1 at first, and goes to 0 for 1's sake.
  EXPECT_THAT(first_copies({{1, 0}, {1}, {1, 0}, {0, 1}}, {1, 0, 1, 0}, 2)[1], 1);
  // Three that are on member 0 alone: one of them has to go.
  EXPECT_THAT(first_copies({{0}, {0}, {0}, {0, 1}}, {0, 0, 1, 1}, 2), ElementsAre(0, 0, 1, 1));
  // Two of three stay on member 0, as now.
  EXPECT_THAT(first_copies({{0, 1}, {1}, {0, 1}}, {0, 0, 1}, 2), ElementsAre(0, 1, 0));
  EXPECT_THROW(first_copies({{0}, {0}, {1}}, {0, 0}, 2), std::invalid_argument);
  EXPECT_THROW(first_copies({{0}, {0}, {1}}, {0, 0, 2}, 2), std::invalid_argument);
}

TEST(FirstCopies, AreCopiesWhereverThereIsAChoiceThatMakesAllOfThemSuch) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const int members = 2 + static_cast<int>(random() % 4),
              each = 1 + static_cast<int>(random() % 3);
    // A choice that is there, and further copies.
    moe::ExpertHomes hidden = moe::homes_in_order(members * each, members);
    std::shuffle(hidden.begin(), hidden.end(), random);
    std::vector<std::vector<int>> holders;
    for (const int home : hidden) {
      auto& there = holders.emplace_back(1, home);
      for (int member = 0; member < members; ++member) {
        if (member != home && random() % 4 == 0) there.push_back(member);
      }
      std::shuffle(there.begin(), there.end(), random);
    }
    moe::ExpertHomes now = hidden;
    std::shuffle(now.begin(), now.end(), random);
    const moe::ExpertHomes homes = first_copies(holders, now, members);
    for (int member = 0; member < members; ++member) {
      EXPECT_EQ(std::count(homes.begin(), homes.end(), member), each);
    }
    for (std::size_t expert = 0; expert < homes.size(); ++expert) {
      EXPECT_EQ(std::count(holders[expert].begin(), holders[expert].end(), homes[expert]), 1);
    }
    EXPECT_EQ(first_copies(holders, hidden, members), hidden) << "who is at home stays there";
  }
}

}  // namespace
}  // namespace tuner::first_copies_test
