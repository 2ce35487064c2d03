#pragma once

#include <span>
#include <vector>

/// Lancet's choice of the exchange that each weight gradient overlaps. Times are in seconds.
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

/// The time of exchanges that no gradient covers: the sum of max(0, exchange - its gradients). The
/// paper's integer program minimises it. [Lancet 4.2, printed]
double uncovered_s(std::span<const double> exchange_s, std::span<const WeightGradient> gradients,
                   std::span<const int> assignment);

}  // namespace tuner
