#pragma once

#include <cstdint>
#include <vector>

namespace moe {

/// One execution of one op of the Program on one rank. Times in seconds since the iteration's begin
/// (rank 0's clock).
struct OpSpan {
  int op = 0;
  double start_s = 0;
  double duration_s = 0;
};

/// What happened, or is predicted to happen, in one iteration: spans per rank, ordered by op.
struct Timeline {
  std::vector<std::vector<OpSpan>> ranks;
  double duration_s = 0;  ///< begin to the end of the last span of any rank
};

/// Iterations at the beginning of a training that touch memory for the first time, or have it
/// measured: no figure is made of their durations.
inline constexpr int kWarmupIterations = 2;

}  // namespace moe
