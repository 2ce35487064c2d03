#include "moe/communicator/mpi/pace.h"

#include <algorithm>

#include "moe/communicator/mpi/transport.h"

namespace moe {
namespace {

/// A rate is measured over at least so many bytes: bytes that already lie in the kernel when a rank
/// looks would seem to have come at once.
constexpr std::int64_t kShortestStretchBytes = std::int64_t{256} << 10;
/// A slower rate, for instance when the link is shared, is adopted step by step: sleeping too short
/// costs looks, sleeping too long costs bandwidth.
constexpr double kWeightOfSlower = 0.25;

/// Share of the time waited so far: looks grow rarer as their delay matters less.
constexpr double kShareOfWait = 1.0 / 16;
constexpr double kGrowth = 1.25;

}  // namespace

void Pace::begin(double now) {
  begin_ = last_arrival_ = now;
  fine_ = kShortest_s;
  in_stretch_ = false;
}

void Pace::arrived(std::int64_t bytes, double now) {
  last_arrival_ = now;
  fine_ = kShortest_s;
  if (!in_stretch_) {
    in_stretch_ = true;
    stretch_begin_ = now;
    stretch_bytes_ = 0;
    return;
  }
  stretch_bytes_ += bytes;
  if (stretch_bytes_ < kShortestStretchBytes || now <= stretch_begin_) return;
  const double seen = static_cast<double>(stretch_bytes_) / (now - stretch_begin_);
  rate_ = seen > rate_ ? seen : (1 - kWeightOfSlower) * rate_ + kWeightOfSlower * seen;
  stretch_begin_ = now;
  stretch_bytes_ = 0;
}

double Pace::sleep_s(std::int64_t missing_bytes, bool near, double now) {
  if (rate_ > 0 && missing_bytes > 0 && !near) {
    // How much of a fragment under way has come is unknown.
    const std::int64_t surely_missing =
        std::max<std::int64_t>(missing_bytes - kEagerFragmentBytes, 0);
    const double due = last_arrival_ + static_cast<double>(surely_missing) / rate_ - now;
    if (due > kShortest_s) {
      return std::min({due, static_cast<double>(kHeldBytes) / rate_, kLongest_s});
    }
  }
  if (!near && !in_stretch_) {
    return std::clamp(kShareOfWait * (now - begin_), kShortest_s, kLongestIdle_s);
  }
  const double sleep = fine_;
  fine_ = std::min(kGrowth * fine_, kLongestNear_s);
  return sleep;
}

}  // namespace moe
