#include "microbench/pairs/tournament.h"

#include <gtest/gtest.h>

#include <set>

namespace microbench::tournament_test {
namespace {

TEST(Tournament, EveryPlayerMeetsEveryOtherOnceAndOneAtATime) {
  for (int players = 2; players <= 9; ++players) {
    const auto rounds = tournament(players);
    EXPECT_EQ(static_cast<int>(rounds.size()), players % 2 == 0 ? players - 1 : players);
    std::set<std::pair<int, int>> met;
    for (const auto& round : rounds) {
      EXPECT_EQ(static_cast<int>(round.size()), players / 2);
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << players;
        EXPECT_TRUE(met.emplace(a, b).second) << a << " " << b;
      }
    }
    EXPECT_EQ(static_cast<int>(met.size()), players * (players - 1) / 2);
  }
}

TEST(Tournament, OfOneHasNoRounds) { EXPECT_TRUE(tournament(1).empty()); }

}  // namespace
}  // namespace microbench::tournament_test
