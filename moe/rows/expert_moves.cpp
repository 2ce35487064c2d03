#include "moe/rows/expert_moves.h"

#include <algorithm>
#include <utility>

namespace moe {
namespace {

/// A holder of an expert, and the member with which it exchanges the expert: the home, or the one
/// before it on the ring.
struct Neighbours {
  int expert = 0;
  int near = 0, holder = 0;
  int hop = 0;
};

/// By expert, then holder; on rings by expert, then hop.
std::vector<Neighbours> neighbours(const ExpertSlots& slots) {
  std::vector<Neighbours> all;
  const bool rings = slots.route == ExpertRoute::ring;
  for (int expert = 0; expert < static_cast<int>(slots.holders_of.size()); ++expert) {
    const int home = home_of(slots, expert);
    std::vector<int> holders = slots.holders_of[expert];
    if (rings) holders = ring_order(home, std::move(holders));
    for (int hop = 0; hop < static_cast<int>(holders.size()); ++hop) {
      const bool passed_on = rings && hop > 0;
      all.push_back({expert, passed_on ? holders[hop - 1] : home, holders[hop], rings ? hop : 0});
    }
  }
  return all;
}

int replica_of(const ExpertSlots& slots, int holder, int expert) {
  return slot_of(slots, holder, expert) - slots.own;
}

}  // namespace

std::vector<int> ring_order(int home, std::vector<int> holders) {
  std::ranges::sort(holders);
  std::rotate(holders.begin(), std::ranges::upper_bound(holders, home), holders.end());
  return holders;
}

std::vector<ExpertMove> moves_to_replicas(const ExpertSlots& slots) {
  std::vector<ExpertMove> moves;
  for (const auto& [expert, near, holder, hop] : neighbours(slots)) {
    const int block = hop == 0 ? slot_of(slots, near, expert) : replica_of(slots, near, expert);
    moves.push_back({near, block, holder, replica_of(slots, holder, expert), hop});
  }
  return moves;
}

std::vector<ExpertMove> moves_home(const ExpertSlots& slots) {
  std::vector<int> returned(slots.replicas_of.size());
  std::vector<ExpertMove> moves;
  for (const auto& [expert, near, holder, hop] : neighbours(slots)) {
    const int to_block = hop == 0 ? returned[near]++ : replica_of(slots, near, expert);
    moves.push_back({holder, replica_of(slots, holder, expert), near, to_block, hop});
  }
  return moves;
}

int most_returned(const ExpertSlots& slots) {
  int most = 0;
  for (const ExpertMove& move : moves_home(slots)) {
    if (move.hop == 0) most = std::max(most, move.to_block + 1);
  }
  return most;
}

std::vector<int> returned_to(const ExpertSlots& slots, int member) {
  std::vector<int> experts;
  for (const Neighbours& one : neighbours(slots)) {
    if (one.hop == 0 && one.near == member) experts.push_back(slot_of(slots, member, one.expert));
  }
  return experts;
}

std::vector<ExpertMove> moves_between_homes(const ExpertHomes& from, const ExpertHomes& to,
                                            int experts, int members) {
  const ExpertSlots before = expert_slots({{}, RowsOfOthers::home, from}, experts, members);
  const ExpertSlots after = expert_slots({{}, RowsOfOthers::home, to}, experts, members);
  std::vector<ExpertMove> moves;
  for (int expert = 0; expert < experts; ++expert) {
    const int home = home_of(before, expert), new_home = home_of(after, expert);
    const ExpertMove move{home, slot_of(before, home, expert), new_home,
                          slot_of(after, new_home, expert)};
    if (home != new_home || move.block != move.to_block) moves.push_back(move);
  }
  return moves;
}

ElementRange elements_of(std::int64_t block_rows, std::int64_t columns, int block, Slice share) {
  const std::int64_t begin = slice_begin(block_rows, share), end = slice_end(block_rows, share);
  return {(block * block_rows + begin) * columns, (end - begin) * columns};
}

}  // namespace moe
