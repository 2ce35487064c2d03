#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

namespace moe {

/// What the threads of a runner tell each other: which ops are prepared, which have ended, that one
/// of them has failed, and when the next iteration begins.
class Progress {
 public:
  /// Of the driving thread: a new iteration of `ops` ops, which `threads` threads go through.
  void begin(std::size_t ops, int threads);
  /// Waits until those threads are through. Rethrows what made one of them fail.
  void await_end();
  /// No iteration will begin any more.
  void stop();
  bool has_failed() const;

  /// Of a stream's thread: blocks until an iteration after number `seen` begins; its number, or -1
  /// when there will be none.
  int await_iteration(int seen);
  void leave_iteration();

  enum class Verdict : std::uint8_t { go, failed, timed_out };
  struct Turn {
    Verdict verdict = Verdict::go;
    int missing = -1;  ///< timed out: the op that has not ended; -1 where `op` is not prepared
  };
  /// Blocks until `op` is prepared and all of `first` and `second` have ended, another thread has
  /// failed, or `limit_s` is over.
  Turn await(int op, std::span<const int> first, std::span<const int> second, double limit_s);

  void prepared(std::span<const int> ops);
  void ended(int op);
  /// The first failure is the one that counts.
  void failed(std::exception_ptr error);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> prepared_, ended_;  ///< by op
  std::exception_ptr failure_;
  int iteration_ = 0;  ///< begun
  int busy_ = 0;       ///< threads within the present one
  bool stopping_ = false;
};

}  // namespace moe
