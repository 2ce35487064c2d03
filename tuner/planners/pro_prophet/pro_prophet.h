#pragma once

#include "tuner/planners/situation/planner.h"

/// Pro-Prophet in the three forms of its ablation; each adds to the one before [Pro-Prophet VI-C,
/// Fig. 14]. The placement of every MoE layer is found by its greedy search (greedy_placement.h)
/// from the routing of the situation. In training that is the routing of an iteration before: its
/// locality-based planner. The paper's scheduler hides Plan in the all-to-all of the iteration
/// before. Here the host plans between iterations, in microseconds (`planning_time`): no op stands
/// for it.
namespace tuner {

inline constexpr PlannerOption kBalance{
    "balance", 0, 1e6,
    "a of Eq. 7: loads this far apart, in mean loads of an expert, are even [0.1]", false};
inline constexpr PlannerOption kLeftOut{
    "left_out", 0, 4095, "n of Alg. 1: devices that no expert is sent to [the best of several]"};

inline constexpr PlannerOption kReleased{
    "released", 0, 1,
    "1: as the authors' code runs it: a = 3, experts to all devices or all but one, halves of "
    "transfers [0]"};

/// The planner alone: the search uses Eq. 6. Parameters are sent before the layer and gradients
/// come home after backward, on the one stream there is. Throws moe::Refusal where kLeftOut leaves
/// no device.
moe::Schedule plan_pro_prophet_planner(const Situation& situation, const PlannerOptions& options);
/// The same placements, with transfers beside computation of neighbouring blocks
/// (hidden_transfers.h).
moe::Schedule plan_pro_prophet_scheduler(const Situation& situation, const PlannerOptions& options);
/// The search, too, knows that transfers are hidden: it uses Eq. 8 [Pro-Prophet V-C]. Of that plan
/// and of one by scheduled_layer_s, which knows what the Program hides, it takes the faster by
/// simulation (ours).
moe::Schedule plan_pro_prophet(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
