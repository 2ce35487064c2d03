#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "db/timeline/statistics.h"
#include "microbench/activities.h"
#include "microbench/thread_use.h"

namespace microbench {

/// Runs calls of an activity, one after the other, while this rank does other work: on a thread of
/// their own, as training drives a stream, until stop(). After as many calls of a collective as
/// take `seconds` alone, from 10 to 200 ms, its ranks agree whether all of them have been told to
/// stop, and then end together. While they agree, no call runs.
///
/// Collectives that return when they are enqueued (NCCL) are issued by the constructor, as many as
/// take `seconds` alone, so that every rank enqueues those of all streams in one order.
class Background {
 public:
  /// Returns when the first call has begun.
  Background(const Activity& activity, double seconds);
  /// Ends it as stop() does.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// The intervals in which calls ran, in seconds of steady_clock, merged. Rethrows the exception
  /// of a call.
  std::vector<db::TimeInterval> stop();
  /// The use of its thread from the begin of the first call until all ranks were done, and how long
  /// that was; empty where the constructor issued the calls. Call it after stop().
  const ThreadUse& use() const { return use_; }
  double length_s() const { return length_s_; }

 private:
  /// `round`: calls between two times that goes_on() asks.
  void run(int round);
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
