#pragma once

#include <span>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/communicator/ranks.h"

namespace moe {

/// When a rank entered and left a barrier of all ranks, in seconds of its own clock.
struct BarrierTimes {
  double entered_s = 0;
  double left_s = 0;
};
/// A barrier, and its times on this rank (collective).
BarrierTimes timed_barrier(Communicator& world, double time_limit_s);

/// How the clocks of the ranks run against that of rank 0. Clocks of different hosts drift apart,
/// so an offset that was measured once is of little use hours later. A barrier tells which offsets
/// are possible: no rank leaves it before the last one has entered. The offset of a rank is a line
/// through that of the first barrier. It stays as it is while later barriers allow it; else it goes
/// through the middle of what the last one allows.
class RankClocks {
 public:
  /// Begins with the offsets that were measured when the job began.
  explicit RankClocks(const std::vector<RankInfo>& ranks);

  /// Takes account of a barrier. `times`: [rank]. The shorter it was, the more it tells.
  void follow(std::span<const BarrierTimes> times);

  /// What rank 0's clock says when that of `rank` says `own_s`.
  double on_rank_0(int rank, double own_s) const;
  /// How exact that was at the last barrier: half of what it allowed.
  double error_s(int rank) const { return clocks_[static_cast<std::size_t>(rank)].error_s; }

 private:
  struct Clock {
    double begin_s = 0;   ///< its own time of the first barrier
    double offset_s = 0;  ///< then
    double drift = 0;     ///< the change of the offset in a second of its own
    double error_s = 0;
  };
  std::vector<Clock> clocks_;
  bool began_ = false;
};

}  // namespace moe
