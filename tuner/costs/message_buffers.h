#pragma once

#include <span>

#include "tuner/costs/cost_model.h"
#include "tuner/costs/fit.h"

namespace tuner {

/// What the last rank that came to an exchange between nodes has measured there.
struct LastToCome {
  double out_bytes = 0, in_bytes = 0;  ///< to and from ranks of other nodes
  double out_peers = 0, in_peers = 0;  ///< so many of them
  double seconds = 0;                  ///< from its arrival to its end
  double later_s = 0;                  ///< than the ranks it gets rows from, on the average
};

/// The MessageBuffers that explain how long these ranks took. With O bytes to n peers and I bytes
/// from m, which came l seconds before, and the exchange's fit T(bytes) with beta seconds per byte,
/// a rank takes
///     T(max(O - n leaving_bytes, I - min(m ahead_bytes, l / beta), 0)).
/// The result has the least sum of absolute errors, among quantiles of what each rank alone would
/// tell; of several such, the smallest buffers. Both are 0 where there are no ranks, and where the
/// sum is not at least a quarter less than without buffers: then the difference is noise.
MessageBuffers message_buffers(std::span<const LastToCome> ranks, const LinearFit& alone);

}  // namespace tuner
