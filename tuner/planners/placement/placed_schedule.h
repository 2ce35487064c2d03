#pragma once

#include <functional>
#include <string>

#include "moe/rows/expert_placement.h"
#include "tuner/planners/placement/placed_layer.h"
#include "tuner/planners/placement/placement_costs.h"
#include "tuner/planners/situation/planner.h"

/// What planners that place experts have in common.
namespace tuner {

/// A placement for one layer: replicas, where some are to be sent, and homes, where they are to be
/// others than the Program's.
using PlaceLayer = std::function<moe::ExpertPlacement(const PlacedLayer&)>;

/// The placements of all MoE layers as a Schedule: of those that place anything, and whose experts
/// can be placed so.
moe::Schedule placed_schedule(const Situation& situation, std::string planner,
                              const PlaceLayer& place);

/// The placement of a layer under `schedule`; without homes where it decides none.
moe::ExpertPlacement placement_of(const moe::Schedule& schedule, int layer);

/// The homes that `schedule` decides.
moe::HomesByLayer homes_under(const moe::Schedule& schedule);

/// Pro-Prophet's performance model of an iteration: its MoE layers by Eq. 6 or 8 under the
/// schedule's placements, and everything else one after another.
double placed_iteration_s(const Situation& situation, const moe::Schedule& schedule,
                          Transfers transfers);

/// By Eq. 6: for planners that publish no closed form of an iteration.
double blocking_iteration_s(const Situation& situation, const moe::Schedule& schedule);

/// How many experts go where, what moves for good and costs once, and how even loads are before and
/// after.
std::string placement_remark(const Situation& situation, const PlannerOptions& options,
                             const moe::Schedule& schedule);

/// How many experts a schedule sends to other ranks: {"experts_sent": 5}.
std::string placed_json(const moe::Schedule& schedule);

}  // namespace tuner
