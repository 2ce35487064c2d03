#pragma once

#include <span>

namespace tuner {

/// A call between nodes that began while a far larger one was sending through the same card.
struct QueuedCall {
  double wait_s = 0;         ///< how much longer it took than alone
  double others_left_s = 0;  ///< how long the larger ones went on after it began
};

/// LaunchGaps::queued_s: how long such a call waits for what the card was given to send before. The
/// waits w_i last no longer than the larger calls went on, l_i. The result is the q for which
/// min(q, l_i) have the least sum of absolute errors, sum_i |w_i - min(q, l_i)|, among quantiles of
/// the w_i; 0 where there are no calls.
double queued_s(std::span<const QueuedCall> calls);

}  // namespace tuner
