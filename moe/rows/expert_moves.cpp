#include "moe/rows/expert_moves.h"

#include <algorithm>

namespace moe {
namespace {

/// Calls visit(expert, holder) for every replica, by expert, then holder.
template <class Visit>
void visit_replicas(const ExpertSlots& slots, const Visit& visit) {
  for (std::size_t expert = 0; expert < slots.holders_of.size(); ++expert) {
    for (const int holder : slots.holders_of[expert]) visit(static_cast<int>(expert), holder);
  }
}

}  // namespace

std::vector<ExpertMove> moves_to_replicas(const ExpertSlots& slots) {
  std::vector<ExpertMove> moves;
  visit_replicas(slots, [&](int expert, int holder) {
    const int home = home_of(slots, expert);
    moves.push_back(
        {home, slot_of(slots, home, expert), holder, slot_of(slots, holder, expert) - slots.own});
  });
  return moves;
}

std::vector<ExpertMove> moves_home(const ExpertSlots& slots) {
  std::vector<int> returned(slots.replicas_of.size());
  std::vector<ExpertMove> moves;
  visit_replicas(slots, [&](int expert, int holder) {
    const int home = home_of(slots, expert);
    moves.push_back({holder, slot_of(slots, holder, expert) - slots.own, home, returned[home]++});
  });
  return moves;
}

int most_returned(const ExpertSlots& slots) {
  int most = 0;
  for (const ExpertMove& move : moves_home(slots)) most = std::max(most, move.to_block + 1);
  return most;
}

std::vector<int> returned_to(const ExpertSlots& slots, int member) {
  std::vector<int> experts;
  visit_replicas(slots, [&](int expert, int) {
    if (home_of(slots, expert) == member) experts.push_back(slot_of(slots, member, expert));
  });
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
