#include "tuner/planners/smartmoe/smartmoe.h"

#include <fmt/format.h>

#include "moe/rows/expert_slots.h"
#include "tuner/planners/placement/move_costs.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/smartmoe/smartmoe_greedy.h"

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
  return {
      {schedule.planner, fmt::format(R"({{"experts_moved": {}}})", moved), std::move(schedule)}};
}

}  // namespace tuner
