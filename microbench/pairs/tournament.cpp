#include "microbench/pairs/tournament.h"

#include <algorithm>

namespace microbench {

std::vector<std::vector<std::pair<int, int>>> tournament(int players) {
  std::vector<std::vector<std::pair<int, int>>> rounds;
  if (players < 2) return rounds;
  // Of an odd number, who meets the player that is not there rests.
  const int seats = players + players % 2;
  for (int round = 0; round + 1 < seats; ++round) {
    // The last seat stays; the others move around it by one place a round.
    const auto player_at = [&](int seat) { return (seat + round) % (seats - 1); };
    std::vector<std::pair<int, int>>& pairs = rounds.emplace_back();
    const auto meet = [&](int a, int b) {
      if (std::max(a, b) < players) pairs.emplace_back(std::min(a, b), std::max(a, b));
    };
    meet(player_at(0), seats - 1);
    for (int seat = 1; seat < seats / 2; ++seat) {
      meet(player_at(seat), player_at(seats - 1 - seat));
    }
    std::ranges::sort(pairs);
  }
  return rounds;
}

}  // namespace microbench
