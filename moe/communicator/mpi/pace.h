#pragma once

#include <cstdint>

namespace moe {

/// How long a rank that waits for messages sleeps before it looks again. It shares its core with
/// threads that compute, and every look costs them tens of microseconds. So it sleeps until the
/// missing bytes must have arrived, at the rate at which bytes arrived before, or as long as the
/// kernel has something to send. Only then it looks at short intervals. Times are in seconds of any
/// clock.
class Pace {
 public:
  /// Begins a wait. The rate that was learned stays.
  void begin(double now);
  /// Notes that `bytes` more have arrived from other nodes.
  void arrived(std::int64_t bytes, double now);
  /// Seconds to sleep now. `missing_bytes` are still to arrive from other nodes, or to be handed to
  /// the kernel for them, whichever is more. `near`: a message of this node is missing too, whose
  /// bytes move only while both sides look.
  double sleep_s(std::int64_t missing_bytes, bool near, double now);

  double bytes_per_s() const { return rate_; }  ///< 0 while the rate is not known

  static constexpr double kShortest_s = 20e-6;
  /// While bytes move only if somebody looks.
  static constexpr double kLongestNear_s = 100e-6;
  /// While nothing comes, because somebody is late.
  static constexpr double kLongestIdle_s = 400e-6;
  /// In any case, because others may have given up.
  static constexpr double kLongest_s = 5e-3;
  /// Bytes of a message that the kernel's buffers hold while nobody looks.
  static constexpr std::int64_t kHeldBytes = std::int64_t{64} << 10;

 private:
  double rate_ = 0;
  double begin_ = 0;
  double last_arrival_ = 0;  ///< the beginning of the wait until something arrives
  double fine_ = kShortest_s;
  // Of the time over which the rate is measured. It begins with an arrival, whose bytes do not
  // count.
  double stretch_begin_ = 0;
  std::int64_t stretch_bytes_ = 0;
  bool in_stretch_ = false;
};

}  // namespace moe
