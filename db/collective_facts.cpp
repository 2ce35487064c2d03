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
    CollectiveFacts{.name = "all_gather", .bus_factor = the_others},
    CollectiveFacts{.name = "reduce_scatter", .bus_factor = the_others},
    CollectiveFacts{.name = "all_reduce", .bus_factor = twice_the_others},
    CollectiveFacts{.name = "broadcast", .bus_factor = everything},
    CollectiveFacts{.name = "reduce", .bus_factor = everything},
};

}  // namespace

std::span<const CollectiveFacts> measured_collectives() { return kMeasuredCollectives; }

std::optional<double> bus_factor(std::string_view collective, int ranks) {
  const auto* found = std::ranges::find(kMeasuredCollectives, collective, &CollectiveFacts::name);
  if (found == kMeasuredCollectives.end()) return std::nullopt;
  return found->bus_factor(ranks);
}

}  // namespace db
