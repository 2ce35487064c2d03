#pragma once

#include <functional>
#include <string>

#include "moe/rows/expert_placement.h"
#include "tuner/planners/placement/placed_layer.h"
#include "tuner/planners/placement/placement_costs.h"
#include "tuner/planners/situation/planner.h"

/// Placements as a Schedule, for all planners that place experts.
namespace tuner {

/// The placement of one layer: replicas where experts are sent, and homes where they differ from
/// the Program's.
using PlaceLayer = std::function<moe::ExpertPlacement(const PlacedLayer&)>;

/// The placements of all MoE layers as a Schedule. Layers without a placement, and those whose
/// experts cannot be placed so, are left out.
moe::Schedule placed_schedule(const Situation& situation, std::string planner,
                              const PlaceLayer& place);

/// The placement of a layer under `schedule`. It has no homes where the schedule decides none.
moe::ExpertPlacement placement_of(const moe::Schedule& schedule, int layer);

/// The same with the homes of the situation's Program, for which the schedule was planned, where it
/// decides none.
moe::ExpertPlacement placement_in(const Situation& situation, const moe::Schedule& schedule,
                                  int layer);

/// The homes that `schedule` decides.
moe::HomesByLayer homes_under(const moe::Schedule& schedule);

/// Pro-Prophet's performance model of an iteration: MoE layers by Eq. 6 or 8 under the schedule's
/// placements, and all else op after op.
double placed_iteration_s(const Situation& situation, const moe::Schedule& schedule,
                          Transfers transfers);

/// By Eq. 8 where the schedule hides transfers (moe::HoistTransfer), else by Eq. 6.
double placed_paper_s(const Situation& situation, const moe::Schedule& schedule);

/// Says how many experts go where, which ones move for good and at what cost, and how even the
/// loads are before and after.
std::string placement_remark(const Situation& situation, const PlannerOptions& options,
                             const moe::Schedule& schedule);

/// The number of experts that a schedule sends to other ranks: {"experts_sent": 5}.
std::string placed_json(const moe::Schedule& schedule);

}  // namespace tuner
