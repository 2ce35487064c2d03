#pragma once

#include <vector>

#include "moe/rows/routing.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/placement/placed_loads.h"
#include "tuner/planners/placement/pro_prophet_equations.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// A MoE layer as planners that place experts see it.
struct PlacedLayer {
  int layer = 0;
  moe::LayerRouting routing;  ///< all micro-batches together
  GroupedRows rows;
  ProProphetCosts costs;
  OpCost all_to_all;  ///< the cost of its first all-to-all
};

/// Every MoE layer of the situation's Program, ascending. Costs are those of the whole iteration's
/// ops by the situation's fits, without any decision:
/// - exchange: the mean of the layer's all-to-alls. The cost of a row follows from the rank that
///   receives most (Pro-Prophet's mean bandwidth).
/// - experts: all forward ops of the experts. The cost of a row follows from the rank that computes
///   most.
/// - routes: an expert's parameters and gradients by either route, by the fits that the simulation
///   takes (costs/op_costs.h).
/// - fnec_s: computation from the MoE layer before, or from the beginning, up to this one's
///   dispatch, in one micro-batch; bnec_s likewise, up to the end of backward.
/// - beside: these, and the experts of the MoE layer before in its stage where loads are even.
/// Throws as op_costs.
std::vector<PlacedLayer> placed_layers(const Situation& situation);

/// The time of an iteration without the exchanges and experts of its MoE layers, op after op.
double seconds_beside_layers(const Situation& situation);

}  // namespace tuner
