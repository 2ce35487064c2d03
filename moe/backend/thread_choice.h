#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <mutex>

#include "moe/kernels/bound_op.h"

namespace moe {

/// The kind of an op and how much it works on, by powers of two. Ops that are alike in this take
/// about the same time.
struct OpSize {
  std::size_t kind = 0;
  int elements = 0, rows = 0;  ///< bits of the elements of all operands, and of the rows worked on
  friend auto operator<=>(const OpSize&, const OpSize&) = default;
};
OpSize size_of(const BoundOp& op);

/// Decides by measured times whether an op runs on all threads of a rank or on one. What it costs
/// to wake threads, and to move data between caches, depends on the machine and on what else runs
/// there. Some ops of each size are measured in both ways. The others run in the way whose median
/// was less, on all threads only where that saves a twentieth. The first ops of a training also
/// wait for pages of memory, so the choice is made anew soon, and later seldom. May be used by
/// several threads.
class ThreadChoice {
 public:
  static constexpr int kTries = 5;  ///< ops that are measured in each way
  /// Ops of a size after which they are measured anew: the first time, and at most. Each time is
  /// four times as late as the time before.
  static constexpr int kFirstPeriod = 64, kLongestPeriod = 1024;

  /// Whether all threads run the next op of this size.
  bool takes_all(const OpSize& size);
  /// Says what an op took in this way.
  void measured(const OpSize& size, bool all, double seconds);

 private:
  struct Times {
    std::array<double, kTries> seconds{};
    int count = 0;
  };
  struct State {
    int ops = 0, period = kFirstPeriod;
    Times one = {}, all = {};
  };
  static double median(Times times);

  std::mutex mutex_;
  std::map<OpSize, State> states_;
};

}  // namespace moe
