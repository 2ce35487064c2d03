#pragma once

#include <cstdint>
#include <vector>

namespace moe {

/// One execution of one op of the Program on one rank. Times are seconds since the beginning of the
/// iteration, on rank 0's clock.
struct OpSpan {
  int op = 0;
  double start_s = 0;
  double duration_s = 0;
};

/// One measured or predicted iteration.
struct Timeline {
  std::vector<std::vector<OpSpan>> ranks;  ///< [rank]: spans, ordered by op
  double duration_s = 0;  ///< from the beginning to the end of the last span of any rank
};

/// The first iterations of a training touch memory for the first time, and their memory use is
/// measured. No figure is made from their durations.
inline constexpr int kWarmupIterations = 2;

}  // namespace moe
