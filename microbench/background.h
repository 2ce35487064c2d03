#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "db/timeline_statistics.h"
#include "microbench/activities.h"
#include "microbench/thread_use.h"

namespace microbench {

/// Calls of an activity, one after the other, beside what else this rank does: on a thread of their
/// own, as training drives a stream, until stop(). The ranks of a collective agree on the end every
/// few milliseconds, when all of them have been told to stop.
///
/// Collectives that return when they are enqueued are issued by the constructor, so that every rank
/// enqueues those of all streams in one order: as many as, alone, take `seconds`.
class Background {
 public:
  /// Returns when the first call has begun.
  Background(const Activity& activity, double seconds);
  /// Ends it as stop() does.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// When calls ran, in seconds of steady_clock, merged. Throws what a call threw.
  std::vector<db::TimeInterval> stop();
  /// Of its thread, from the first call's begin until all ranks were done, and how long that was; nothing where the
  /// constructor issued the calls. To be asked after stop().
  const ThreadUse& use() const { return use_; }
  double length_s() const { return length_s_; }

 private:
  void run();
  void issue();
  bool goes_on();
  void join();

  const Activity& activity_;
  const int burst_;                                     ///< calls between two marks
  std::vector<std::pair<moe::Mark, moe::Mark>> marks_;  ///< begin and end of each burst of calls
  std::atomic<bool> begun_ = false, stopped_ = false;
  std::exception_ptr failure_;
  ThreadUse use_;
  double length_s_ = 0;
  std::thread thread_;
};

}  // namespace microbench
