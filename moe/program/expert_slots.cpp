#include "moe/program/expert_slots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace moe {
namespace {

void check_replica(const ReplicatedExpert& replica, int experts, int members) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("expert {} on ranks {}: {}", replica.expert,
                                            fmt::join(replica.holders, ", "), why));
  };
  if (replica.expert < 0 || replica.expert >= experts) {
    refuse(fmt::format("expected an expert from 0 to {}", experts - 1));
  }
  const int home = replica.expert / (experts / members);
  if (replica.holders.empty()) refuse("expected at least one rank beside its own");
  for (std::size_t i = 0; i < replica.holders.size(); ++i) {
    const int holder = replica.holders[i];
    if (holder < 0 || holder >= members) {
      refuse(fmt::format("rank {}: expected one of the expert group, from 0 to {}", holder,
                         members - 1));
    }
    if (holder == home) {
      refuse(fmt::format("it belongs to rank {} already: expected others", home));
    }
    if (i > 0 && holder <= replica.holders[i - 1]) {
      refuse("expected ascending ranks, each once");
    }
  }
}

}  // namespace

ExpertSlots expert_slots(const ExpertPlacement& placement, int experts, int members) {
  if (members < 1 || experts < 1 || experts % members != 0) {
    throw std::invalid_argument(
        fmt::format("expert slots: {} experts on {} ranks", experts, members));
  }
  ExpertSlots slots;
  slots.own = experts / members;
  slots.rows_of_others = placement.rows_of_others;
  if (placement.replicas.empty()) return slots;
  slots.guests_of.resize(static_cast<std::size_t>(members));
  slots.holders_of.resize(static_cast<std::size_t>(experts));
  int last = -1;
  for (const ReplicatedExpert& replica : placement.replicas) {
    check_replica(replica, experts, members);
    if (replica.expert <= last) {
      throw std::invalid_argument(
          fmt::format("expert {} after expert {}: expected ascending experts, each once",
                      replica.expert, last));
    }
    last = replica.expert;
    slots.holders_of[static_cast<std::size_t>(last)] = replica.holders;
    for (const int holder : replica.holders) {
      auto& guests = slots.guests_of[static_cast<std::size_t>(holder)];
      guests.push_back(last);
      slots.guests = std::max(slots.guests, static_cast<int>(guests.size()));
    }
  }
  return slots;
}

int slot_count(const ExpertSlots& slots) { return slots.own + slots.guests; }

int expert_in(const ExpertSlots& slots, int member, int slot) {
  if (slot < slots.own) return member * slots.own + slot;
  const auto& guests = slots.guests_of[static_cast<std::size_t>(member)];
  const auto guest = static_cast<std::size_t>(slot - slots.own);
  return guest < guests.size() ? guests[guest] : -1;
}

int home_of(const ExpertSlots& slots, int expert) { return expert / slots.own; }

int slot_of(const ExpertSlots& slots, int member, int expert) {
  if (home_of(slots, expert) == member) return expert % slots.own;
  const auto& guests = slots.guests_of.at(static_cast<std::size_t>(member));
  const auto found = std::lower_bound(guests.begin(), guests.end(), expert);
  if (found == guests.end() || *found != expert) {
    throw std::logic_error(
        fmt::format("expert slots: member {} does not compute expert {}", member, expert));
  }
  return slots.own + static_cast<int>(found - guests.begin());
}

int destination(const ExpertSlots& slots, int source, int expert) {
  const int home = home_of(slots, expert);
  if (slots.holders_of.empty() || source == home) return home;
  const auto& holders = slots.holders_of[static_cast<std::size_t>(expert)];
  if (holders.empty()) return home;
  if (std::binary_search(holders.begin(), holders.end(), source)) return source;
  switch (slots.rows_of_others) {
    case RowsOfOthers::home:
      return home;
    case RowsOfOthers::spread: {
      const auto turn = static_cast<std::size_t>(source) % (1 + holders.size());
      return turn == 0 ? home : holders[turn - 1];
    }
  }
  throw std::logic_error("destination: rows of others go nowhere");
}

}  // namespace moe
