#include "tuner/costs/card_queue.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tuner {

double queued_s(std::span<const QueuedCall> calls) {
  if (calls.empty()) return 0;
  std::vector<double> sorted;
  for (const QueuedCall& call : calls) sorted.push_back(call.wait_s);
  std::ranges::sort(sorted);
  constexpr std::size_t kQuantiles = 100;
  double best_s = 0, least = std::numeric_limits<double>::infinity();
  for (std::size_t quantile = 0; quantile <= kQuantiles; ++quantile) {
    const double queued = sorted[(sorted.size() - 1) * quantile / kQuantiles];
    double error = 0;
    for (const QueuedCall& call : calls) {
      error += std::abs(call.wait_s - std::min(queued, call.others_left_s));
    }
    if (error < least) {
      least = error;
      best_s = queued;
    }
  }
  return best_s;
}

}  // namespace tuner
