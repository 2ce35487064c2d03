#pragma once

#include "moe/rows/expert_placement.h"
#include "tuner/planners/placement/placed_loads.h"
#include "tuner/planners/placement/pro_prophet_equations.h"

/// The time of one MoE layer under a placement of its experts, by Pro-Prophet's performance model.
namespace tuner {

/// The share of the transfers of parameters and gradients that a layer pays for.
enum class Transfers {
  blocking,    ///< all of it: Eq. 6
  overlapped,  ///< the part that neighbouring computation does not hide: Eq. 8
  scheduled,   ///< the same as the schedule hides it: scheduled_layer_s
};

/// Eq. 6, Eq. 8 or scheduled_layer_s.
double layer_s(const ProProphetCosts& costs, const ProProphetTimes& times, Transfers transfers);

/// The time of a layer under `placement`. Throws std::invalid_argument as placed_loads.
double placed_layer_s(const moe::LayerRouting& routing, const moe::Groups& groups,
                      const moe::ExpertPlacement& placement, const ProProphetCosts& costs,
                      Transfers transfers);

}  // namespace tuner
