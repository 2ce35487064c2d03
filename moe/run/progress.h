#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

namespace moe {

/// The threads of a runner tell each other by it which ops are prepared, which have ended, that one
/// of the threads has failed, and when the next iteration begins.
class Progress {
 public:
  /// The driving thread begins a new iteration of `ops` ops on `threads` threads.
  void begin(std::size_t ops, int threads);
  /// Waits until those threads have finished the iteration. Rethrows the failure of any of them.
  void await_end();
  /// Says that no other iteration will begin.
  void stop();
  bool has_failed() const;

  /// A stream's thread blocks until an iteration after number `seen` begins. Returns its number, or
  /// -1 when there will be none.
  int await_iteration(int seen);
  void leave_iteration();

  enum class Verdict : std::uint8_t { go, failed, timed_out };
  struct Turn {
    Verdict verdict = Verdict::go;
    int missing =
        -1;  ///< where timed out: the op that has not ended; -1 where `op` is not prepared
  };
  /// Blocks until `op` is prepared and all of `first` and `second` have ended, or another thread
  /// has failed, or `limit_s` is over.
  Turn await(int op, std::span<const int> first, std::span<const int> second, double limit_s);

  void prepared(std::span<const int> ops);
  void ended(int op);
  /// Only the first failure is kept.
  void failed(std::exception_ptr error);

 private:
  /// A thread in await().
  struct Waiter {
    int op;
    std::span<const int> first, second;
    std::condition_variable its_turn;
  };
  /// The op that has not ended and comes first in the waiter's lists, or -1.
  int missing(const Waiter& waiter) const;
  bool may_go_on(const Waiter& waiter) const;
  /// Wakes the waiters whose turn has come and no others: a thread that wakes takes a core from
  /// those that compute.
  void wake_waiters();

  mutable std::mutex mutex_;
  std::vector<Waiter*> waiters_;
  std::condition_variable iteration_begins_, iteration_ends_;
  std::vector<bool> prepared_, ended_;  ///< [op]
  std::exception_ptr failure_;
  int iteration_ = 0;  ///< the iteration that has begun last
  int busy_ = 0;       ///< threads that have not finished it
  bool stopping_ = false;
};

}  // namespace moe
