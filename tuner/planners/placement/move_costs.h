#pragma once

#include <cstdint>

#include "moe/rows/expert_placement.h"
#include "tuner/planners/placement/placement_costs.h"
#include "tuner/planners/situation/planner.h"

/// The cost of moving experts to other homes: once, between two iterations
/// (moe/train/move_experts.h).
namespace tuner {

struct MoveCost {
  int experts = 0;  ///< experts that change their rank
  /// Bytes of parameters and optimizer states, over the links of all ranks together.
  std::int64_t inter_node_bytes = 0, intra_node_bytes = 0;
  double seconds = 0;
};

/// The present homes of all experts of a layer.
moe::ExpertHomes current_homes(const Situation& situation, const PlacedLayer& layer);

/// The cost for one layer. Every tensor of the experts' state is an exchange like the layer's
/// all-to-all, by its fits and links, in all expert groups at once. [ours]
MoveCost move_cost(const Situation& situation, const PlacedLayer& layer,
                   const moe::ExpertHomes& from, const moe::ExpertHomes& to);

/// The cost of moving experts from their present homes to `to`, layer after layer. Layers that are
/// absent from `to` get the Program's homes.
MoveCost move_cost(const Situation& situation, const moe::HomesByLayer& to);

/// True where a layer saves more by Pro-Prophet's Eq. 6 in options.iterations than moving its
/// experts costs. Always true where the number of iterations is unknown. [ours]
bool pays_off(const Situation& situation, const PlannerOptions& options, const PlacedLayer& layer,
              const moe::ExpertPlacement& now, const moe::ExpertPlacement& then);

}  // namespace tuner
