#pragma once

#include <cstdint>

#include "moe/rows/expert_placement.h"
#include "tuner/planners/placement/placement_costs.h"
#include "tuner/planners/situation/planner.h"

/// What moving experts to other homes costs: once, between two iterations
/// (moe/train/move_experts.h).
namespace tuner {

struct MoveCost {
  int experts = 0;  ///< that change ranks
  /// Parameters and optimizer states over the links of all ranks together.
  std::int64_t inter_node_bytes = 0, intra_node_bytes = 0;
  double seconds = 0;
};

/// Where the experts of a layer are now, of every one.
moe::ExpertHomes current_homes(const Situation& situation, const PlacedLayer& layer);

/// Of one layer: every tensor of the experts' state is an exchange as the layer's all-to-all is,
/// whose fits and links cost it, with all expert groups at once. [ours]
MoveCost move_cost(const Situation& situation, const PlacedLayer& layer,
                   const moe::ExpertHomes& from, const moe::ExpertHomes& to);

/// From where they are now to where a schedule has them, layer after layer; of layers that are
/// absent where the Program has them.
MoveCost move_cost(const Situation& situation, const moe::HomesByLayer& to);

/// True where what a layer saves by Pro-Prophet's Eq. 6 in options.iterations is more than bringing
/// its experts to other homes costs; always where it is not known how many there will be. [ours]
bool pays_off(const Situation& situation, const PlannerOptions& options, const PlacedLayer& layer,
              const moe::ExpertPlacement& now, const moe::ExpertPlacement& then);

}  // namespace tuner
