#pragma once

#include <span>
#include <vector>

/// Lancet's choice of the exchange that each weight gradient overlaps. Times in seconds.
namespace tuner {

/// The gradient of one parameter.
struct WeightGradient {
  double seconds = 0;
  /// Exchanges that no path of dependencies joins it with: their indices, ascending.
  std::vector<int> may_overlap;
};

/// [gradient]: the exchange after which it is put, -1 where it stays. Exchange by exchange, it
/// takes the free gradient whose time is nearest to the time that is still uncovered, until the
/// exchange is covered. [Lancet Alg. 1, printed] From the authors' code (facts only): an exchange
/// that has one takes no other that lasts more than twice the uncovered time, and then all those
/// that may overlap no later exchange.
std::vector<int> assign_weight_gradients(std::span<const double> exchange_s,
                                         std::span<const WeightGradient> gradients);

/// The time of exchanges that no gradient covers: the sum of max(0, exchange - its gradients). The
/// paper's integer program minimises it. [Lancet 4.2, printed]
double uncovered_s(std::span<const double> exchange_s, std::span<const WeightGradient> gradients,
                   std::span<const int> assignment);

}  // namespace tuner
