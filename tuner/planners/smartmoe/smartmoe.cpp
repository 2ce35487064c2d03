#include "tuner/planners/smartmoe/smartmoe.h"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/planners/placement/move_costs.h"
#include "tuner/planners/placement/packed_homes.h"
#include "tuner/planners/placement/placed_schedule.h"

namespace tuner {

moe::Schedule plan_smartmoe_greedy(const Situation& situation, const PlannerOptions& options) {
  return placed_schedule(situation, "smartmoe_greedy", [&](const PlacedLayer& layer) {
    const GroupedRows& rows = layer.rows;
    moe::ExpertPlacement now, then;
    now.homes = current_homes(situation, layer);
    then.homes = smartmoe_homes(rows_by_expert(rows), now.homes, rows.members);
    return pays_off(situation, options, layer, now, then) ? then : now;
  });
}

std::vector<Candidate> smartmoe_greedy_candidates(const Situation& situation,
                                                  const PlannerOptions& options) {
  moe::Schedule schedule = plan_smartmoe_greedy(situation, options);
  const int moved = move_cost(situation, homes_under(schedule)).experts;
  return {{std::move(schedule), fmt::format(R"({{"experts_moved": {}}})", moved)}};
}

moe::ExpertHomes smartmoe_homes(std::span<const std::int64_t> loads, const moe::ExpertHomes& now,
                                int members) {
  const auto largest = [&](const moe::ExpertHomes& placed) {
    const auto of_members = loads_of_members(loads, placed, members);
    return *std::max_element(of_members.begin(), of_members.end());
  };
  std::vector<int> slots(static_cast<std::size_t>(members), 0);
  for (const int home : now) ++slots[static_cast<std::size_t>(home)];
  moe::ExpertHomes homes = packed_homes(loads, slots);
  return largest(homes) < largest(now) ? homes : now;
}

}  // namespace tuner
