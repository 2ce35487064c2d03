#pragma once

#include <chrono>

#include "microbench/bench.h"

namespace microbench {

/// All ranks meet again and again while some of them measure. So those who rest or are done wait
/// from one meeting to the next, within the time limit, however long a measurement takes.
class Meetings {
 public:
  explicit Meetings(const Bench& bench);

  /// Those who measure have to meet at least so often.
  double part_s() const { return part_s_; }
  /// Whether the last meeting was so long ago.
  bool is_due() const;
  /// Every rank calls it, and says whether it still measures. Whether any does. Throws moe::Stopped
  /// on all ranks where one was asked to end.
  bool meet(bool measures);

 private:
  moe::Communicator& world_;
  moe::CallContext call_;
  double part_s_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace microbench
