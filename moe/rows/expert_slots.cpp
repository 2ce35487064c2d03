#include "moe/rows/expert_slots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "moe/errors.h"

namespace moe {
namespace {

void check_homes(const ExpertHomes& homes, const db::ExpertsInOrder& in_order) {
  const auto& [experts, members] = in_order;
  if (static_cast<int>(homes.size()) != experts) {
    throw Refusal("", fmt::format("homes: {} entries", homes.size()),
                  fmt::format("expected one for each of {} experts", experts));
  }
  std::vector<int> owned(static_cast<std::size_t>(members));
  for (std::size_t expert = 0; expert < homes.size(); ++expert) {
    const int home = homes[expert];
    if (home < 0 || home >= members) {
      throw Refusal("", fmt::format("expert {} at home on rank {}", expert, home),
                    fmt::format("expected one of the expert group, from 0 to {}", members - 1));
    }
    ++owned[home];
  }
  for (int member = 0; member < members; ++member) {
    const int expected = in_order.held_by(member);
    if (owned[member] == expected) continue;
    throw Refusal("", fmt::format("rank {} is the home of {} experts", member, owned[member]),
                  in_order.divide()
                      ? fmt::format("expected {} on each", expected)
                      : fmt::format("expected {}, as many as of {} experts in order on {} ranks",
                                    expected, experts, members));
  }
}

void check_replica(const ReplicatedExpert& replica, const ExpertSlots& slots, int experts,
                   int members) {
  const auto refuse = [&](std::string_view why, std::string way_out) {
    throw Refusal(
        fmt::format("expert {} on ranks {}", replica.expert, fmt::join(replica.holders, ", ")), why,
        std::move(way_out));
  };
  if (replica.expert < 0 || replica.expert >= experts) {
    refuse("", fmt::format("expected an expert from 0 to {}", experts - 1));
  }
  const int home = home_of(slots, replica.expert);
  if (replica.holders.empty()) refuse("", "expected at least one rank besides its home");
  for (std::size_t i = 0; i < replica.holders.size(); ++i) {
    const int holder = replica.holders[i];
    if (holder < 0 || holder >= members) {
      refuse(fmt::format("rank {}", holder),
             fmt::format("expected one of the expert group, from 0 to {}", members - 1));
    }
    if (holder == home) {
      refuse(fmt::format("rank {} is its home", home), "expected other ranks");
    }
    if (i > 0 && holder <= replica.holders[i - 1]) {
      refuse("", "expected ascending ranks, each once");
    }
  }
}

}  // namespace

ExpertSlots expert_slots(const ExpertPlacement& placement, int experts, int members) {
  if (members < 1 || experts < members) {
    throw std::invalid_argument(
        fmt::format("expert slots: {} experts on {} ranks", experts, members));
  }
  ExpertSlots slots;
  slots.in_order = {experts, members};
  slots.own = slots.in_order.most();
  slots.rows_of_others = placement.rows_of_others;
  slots.route = placement.route;
  if (!placement.homes.empty()) {
    check_homes(placement.homes, slots.in_order);
    slots.homes = placement.homes;
    slots.owned.resize(static_cast<std::size_t>(members));
    for (int expert = 0; expert < experts; ++expert) {
      slots.owned[home_of(slots, expert)].push_back(expert);
    }
  }
  slots.replica_slots = placement.late.slots;
  if (placement.replicas.empty()) return slots;
  const bool balanced = placement.rows_of_others == RowsOfOthers::balanced;
  slots.replicas_of.resize(static_cast<std::size_t>(members));
  slots.holders_of.resize(static_cast<std::size_t>(experts));
  int last = -1;
  for (const ReplicatedExpert& replica : placement.replicas) {
    check_replica(replica, slots, experts, members);
    if (replica.expert <= last) {
      throw Refusal("", fmt::format("expert {} after expert {}", replica.expert, last),
                    "expected ascending experts, each once");
    }
    last = replica.expert;
    slots.holders_of[last] = replica.holders;
    for (const int holder : replica.holders) {
      auto& replicas = slots.replicas_of[holder];
      replicas.push_back(last);
      slots.replica_slots = std::max(slots.replica_slots, static_cast<int>(replicas.size()));
    }
  }
  for (int expert = 0, before = 0; balanced && expert < experts; ++expert) {
    slots.copies_before.push_back(before);
    before += 1 + static_cast<int>(slots.holders_of[expert].size());
  }
  return slots;
}

int slot_count(const ExpertSlots& slots) { return slots.own + slots.replica_slots; }

int expert_in(const ExpertSlots& slots, int member, int slot) {
  const auto i = static_cast<std::size_t>(member);
  if (slot < slots.own) {
    if (slot >= slots.in_order.held_by(member)) return -1;
    return slots.owned.empty() ? slots.in_order.first_of(member) + slot : slots.owned[i][slot];
  }
  if (slots.replicas_of.empty()) return -1;  // none was chosen
  const auto& replicas = slots.replicas_of[i];
  const auto replica = static_cast<std::size_t>(slot - slots.own);
  return replica < replicas.size() ? replicas[replica] : -1;
}

int home_of(const ExpertSlots& slots, int expert) {
  return slots.homes.empty() ? slots.in_order.home_of(expert) : slots.homes[expert];
}

ExpertHomes homes_in_order(int experts, int members) {
  const db::ExpertsInOrder in_order{experts, members};
  ExpertHomes homes;
  for (int expert = 0; expert < experts; ++expert) homes.push_back(in_order.home_of(expert));
  return homes;
}

ExpertHomes homes_of(const HomesByLayer& homes, int layer) {
  const auto found = homes.find(layer);
  return found == homes.end() ? ExpertHomes{} : found->second;
}

int slot_of(const ExpertSlots& slots, int member, int expert) {
  const auto position = [&](const std::vector<int>& ascending) {
    const auto found = std::lower_bound(ascending.begin(), ascending.end(), expert);
    if (found == ascending.end() || *found != expert) {
      throw std::logic_error(
          fmt::format("expert slots: member {} does not compute expert {}", member, expert));
    }
    return static_cast<int>(found - ascending.begin());
  };
  const auto i = static_cast<std::size_t>(member);
  if (home_of(slots, expert) == member) {
    return slots.owned.empty() ? expert - slots.in_order.first_of(member)
                               : position(slots.owned[i]);
  }
  return slots.own + position(slots.replicas_of.at(i));
}

std::vector<int> copies_of(const ExpertSlots& slots, int expert) {
  std::vector<int> copies;
  if (!slots.holders_of.empty()) copies = slots.holders_of[expert];
  const int home = home_of(slots, expert);
  copies.insert(std::ranges::lower_bound(copies, home), home);
  return copies;
}

int copy_at(const ExpertSlots& slots, int expert, int member) {
  const int home = home_of(slots, expert);
  if (slots.holders_of.empty()) return member == home ? 0 : -1;
  const auto& holders = slots.holders_of[expert];
  const auto found = std::ranges::lower_bound(holders, member);
  if (member != home && (found == holders.end() || *found != member)) return -1;
  return static_cast<int>(found - holders.begin()) + (home < member ? 1 : 0);
}

bool may_send(const ExpertSlots& slots, int source, int expert, int member) {
  if (!slots.copies_before.empty()) return copy_at(slots, expert, member) >= 0;
  return destination(slots, source, expert) == member;
}

int sent_before(const ExpertSlots& slots, int expert, int member) {
  if (slots.copies_before.empty()) return expert;
  return slots.copies_before[expert] + copy_at(slots, expert, member);
}

int destination(const ExpertSlots& slots, int source, int expert) {
  const int home = home_of(slots, expert);
  if (slots.holders_of.empty() || slots.holders_of[expert].empty()) return home;
  const auto& holders = slots.holders_of[expert];
  const bool holds = source == home || std::ranges::binary_search(holders, source);
  if (holds && slots.rows_of_others != RowsOfOthers::balanced) return source;
  switch (slots.rows_of_others) {
    case RowsOfOthers::home:
      return home;
    case RowsOfOthers::balanced:
      break;
    case RowsOfOthers::spread: {
      const auto turn = static_cast<std::size_t>(source) % (1 + holders.size());
      return turn == 0 ? home : holders[turn - 1];
    }
  }
  throw std::logic_error("destination: the rows of this expert have none of their own");
}

}  // namespace moe
