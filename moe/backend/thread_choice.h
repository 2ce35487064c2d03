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
/// there. Some ops of each size are measured on all threads, then some on one. The others run in the
/// way whose median was less, on all threads only where that saves a twentieth.
///
/// That is not enough where another process has a core: few ops wait for it, but long. So the first
/// measurements of all such sizes are added up, the second ones, and so on, and the median of these
/// sums must be less on all threads too. Where waiting takes long, a round of measurements ends at
/// once, and its ops run on one thread.
///
/// The first ops of a training also wait for pages of memory, so the choice is made anew soon, and
/// later seldom: for all sizes at once, since threads that work at every op are awake when the next
/// one begins, and those that seldom work have to be woken. May be used by several threads.
class ThreadChoice {
 public:
  static constexpr int kTries = 5;  ///< ops that are measured in each way
  /// Ops of a size, on average, after which all are measured anew: the first time, and at most. Each
  /// time is four times as late as the time before.
  static constexpr int kFirstPeriod = 64, kLongestPeriod = 1024;

  /// Whether all threads run the next op of this size.
  bool takes_all(const OpSize& size);
  /// Says what an op took in this way.
  void measured(const OpSize& size, bool all, double seconds);

 private:
  using Tries = std::array<double, kTries>;
  struct Times {
    Tries seconds{};
    int count = 0;
  };
  struct State {
    int round = 0;  ///< of measurements
    int ops = 0;    ///< of the round
    Times one = {}, all = {};
  };
  static double median(Tries seconds);
  /// Adds what the tries of a size took beyond the shortest of them, but for the first one, which
  /// waits for pages and for threads that sleep.
  void add_waiting(const Tries& seconds);
  static bool is_worth_it(const State& state);

  std::mutex mutex_;
  std::map<OpSize, State> states_;
  int round_ = 0, period_ = kFirstPeriod;
  std::size_t ops_ = 0;  ///< of all sizes in this round
  /// Of this round's tries on all threads: as long as the shortest, and beyond it.
  double needed_s_ = 0, waited_s_ = 0;
  Tries all_s_{}, one_s_{};  ///< sums over the sizes of this round that are worth all threads
};

}  // namespace moe
