#include "db/collective_facts.h"

#include <algorithm>
#include <array>

namespace db {
namespace {

double the_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double twice_the_others(int ranks) { return 2 * the_others(ranks); }
double everything(int) { return 1; }

constexpr std::array kMeasuredCollectives = {
    CollectiveFacts{.name = "all_to_all", .bus_factor = the_others},
    CollectiveFacts{.name = "all_to_all_v", .bus_factor = the_others},
    CollectiveFacts{.name = "all_gather", .bus_factor = the_others, .is_ring_of_cards = true},
    CollectiveFacts{.name = "reduce_scatter", .bus_factor = the_others, .is_ring_of_cards = true},
    CollectiveFacts{.name = "all_reduce",
                    .bus_factor = twice_the_others,
                    .is_of_pairs = false,
                    .is_ring_of_cards = true},
    CollectiveFacts{.name = "broadcast", .bus_factor = everything, .is_of_pairs = false},
    CollectiveFacts{.name = "reduce", .bus_factor = everything, .is_of_pairs = false},
};

const CollectiveFacts* facts_of_collective(std::string_view name) {
  const auto* found = std::ranges::find(kMeasuredCollectives, name, &CollectiveFacts::name);
  return found == kMeasuredCollectives.end() ? nullptr : found;
}

}  // namespace

std::span<const CollectiveFacts> measured_collectives() { return kMeasuredCollectives; }

std::optional<double> bus_factor(std::string_view collective, int ranks) {
  const CollectiveFacts* facts = facts_of_collective(collective);
  if (facts == nullptr) return std::nullopt;
  return facts->bus_factor(ranks);
}

std::optional<double> link_factor(std::string_view collective, int ranks, int nodes,
                                  bool all_cards) {
  const CollectiveFacts* facts = facts_of_collective(collective);
  if (facts == nullptr) return std::nullopt;
  if (nodes > 1 && all_cards && facts->is_ring_of_cards) {
    return facts->bus_factor(ranks) * nodes / ranks;
  }
  if (nodes <= 1 || !facts->is_of_pairs) return facts->bus_factor(ranks);
  return 1 - 1.0 / nodes;
}

}  // namespace db
