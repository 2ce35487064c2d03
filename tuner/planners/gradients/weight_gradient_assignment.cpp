#include "tuner/planners/gradients/weight_gradient_assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tuner {
namespace {

/// The free gradient that may overlap the exchange and whose time is nearest to `wanted_s`; -1
/// where there is none.
int nearest(std::span<const WeightGradient> gradients, std::span<const int> assignment,
            int exchange, double wanted_s) {
  int best = -1;
  double best_s = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < gradients.size(); ++j) {
    const auto& may = gradients[j].may_overlap;
    if (assignment[j] >= 0 || !std::binary_search(may.begin(), may.end(), exchange)) continue;
    const double away_s = std::abs(wanted_s - gradients[j].seconds);
    if (away_s < best_s) {
      best = static_cast<int>(j);
      best_s = away_s;
    }
  }
  return best;
}

}  // namespace

std::vector<int> assign_weight_gradients(std::span<const double> exchange_s,
                                         std::span<const WeightGradient> gradients) {
  std::vector<int> assignment(gradients.size(), -1);
  for (std::size_t i = 0; i < exchange_s.size(); ++i) {
    const int exchange = static_cast<int>(i);
    double left_s = exchange_s[i];
    bool placed = false;
    while (left_s > 0) {
      const int next = nearest(gradients, assignment, exchange, left_s);
      if (next < 0) break;
      const auto at = static_cast<std::size_t>(next);
      if (placed && gradients[at].seconds > 2 * left_s) break;
      assignment[at] = exchange;
      left_s -= gradients[at].seconds;
      placed = true;
    }
    for (std::size_t j = 0; j < gradients.size(); ++j) {
      const auto& may = gradients[j].may_overlap;
      if (assignment[j] < 0 && !may.empty() && may.back() == exchange) assignment[j] = exchange;
    }
  }
  return assignment;
}

double uncovered_s(std::span<const double> exchange_s, std::span<const WeightGradient> gradients,
                   std::span<const int> assignment) {
  std::vector<double> left_s(exchange_s.begin(), exchange_s.end());
  for (std::size_t j = 0; j < gradients.size(); ++j) {
    if (assignment[j] >= 0) left_s[assignment[j]] -= gradients[j].seconds;
  }
  double sum_s = 0;
  for (const double left : left_s) sum_s += std::max(0.0, left);
  return sum_s;
}

}  // namespace tuner
