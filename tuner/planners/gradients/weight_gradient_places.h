#pragma once

#include <span>
#include <vector>

#include "moe/passes/place_weight_gradient.h"
#include "tuner/planners/situation/planner.h"

/// Lancet's choice of the exchange that each weight gradient overlaps.
namespace tuner {

/// The gradient of one parameter.
struct WeightGradient {
  double seconds = 0;
  /// Exchanges that no path of dependencies joins it with: their indices, ascending.
  std::vector<int> may_overlap;
};

/// [gradient]: the exchange after which it is put, -1 where it stays. Each exchange in turn takes
/// the free gradient whose time is nearest to its uncovered time, until it is covered. [Lancet Alg.
/// 1, printed] From the authors' code (facts only): an exchange with a gradient takes no other that
/// lasts more than twice the uncovered time. Then it takes all those that may overlap no later
/// exchange.
std::vector<int> assign_weight_gradients(std::span<const double> exchange_s,
                                         std::span<const WeightGradient> gradients);

/// Lancet's places for weight gradients (Alg. 1): after exchanges of rows in the backward phase.
/// The first micro-batch decides for all. `decided` is the schedule without these places.
std::vector<moe::PlaceWeightGradient> weight_gradient_places(const Situation& situation,
                                                             const moe::Schedule& decided);

}  // namespace tuner
