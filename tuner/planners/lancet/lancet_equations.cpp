#include "tuner/planners/lancet/lancet_equations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tuner {
namespace {

/// Of the free gradients that may overlap the exchange, the one whose time is nearest to `wanted_s`; -1: none.
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
    if (assignment[j] >= 0) left_s[static_cast<std::size_t>(assignment[j])] -= gradients[j].seconds;
  }
  double sum_s = 0;
  for (const double left : left_s) sum_s += std::max(0.0, left);
  return sum_s;
}

double pipelined_s(std::span<const PipelineStage> stages, int parts) {
  std::vector<double> ready_s(static_cast<std::size_t>(parts), 0);  // by part
  double computed_s = 0, exchanged_s = 0;
  for (const PipelineStage& stage : stages) {
    for (double& ready : ready_s) {
      ready = computed_s = std::max(computed_s, ready) + stage.compute_s;
      if (stage.exchange_s > 0)
        ready = exchanged_s = std::max(exchanged_s, ready) + stage.exchange_s;
    }
  }
  return std::max(computed_s, exchanged_s);
}

std::vector<InstructionRange> best_ranges(
    int count, std::span<const int> parts,
    const std::function<double(int first, int end, int parts)>& price) {
  std::vector<double> best_s(static_cast<std::size_t>(count) + 1,
                             std::numeric_limits<double>::infinity());
  std::vector<InstructionRange> last(static_cast<std::size_t>(count) + 1);
  best_s[0] = 0;
  for (int end = 1; end <= count; ++end) {
    const auto n = static_cast<std::size_t>(end);
    const auto look = [&](int first, int k) {
      const double seconds = best_s[static_cast<std::size_t>(first)] + price(first, end, k);
      if (seconds < best_s[n]) {
        best_s[n] = seconds;
        last[n] = {first, end, k};
      }
    };
    for (int first = 0; first < end; ++first) look(first, 1);
    for (const int k : parts) {
      for (int first = 0; first < end; ++first) look(first, k);
    }
  }
  std::vector<InstructionRange> ranges;
  for (int end = count; end > 0; end = ranges.back().first) {
    ranges.push_back(last[static_cast<std::size_t>(end)]);
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace tuner
