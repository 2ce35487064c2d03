#include "microbench/pairs/meetings.h"

#include <array>
#include <cstdint>
#include <vector>

#include "moe/stop.h"

namespace microbench {
namespace {

constexpr double kPartsOfLimit = 8;
/// A message and its answer may each take the time limit; with the part that they end it is longer.
constexpr double kLimitsOfMeeting = 3;

}  // namespace

Meetings::Meetings(const Bench& bench)
    : world_(bench.world),
      call_{.time_limit_s = kLimitsOfMeeting * bench.sampling.time_limit_s, .what = "ping_pong"},
      part_s_(bench.sampling.time_limit_s / kPartsOfLimit),
      last_(std::chrono::steady_clock::now()) {}

bool Meetings::is_due() const {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - last_;
  return since.count() > part_s_;
}

bool Meetings::meet(bool measures) {
  const std::array<std::int32_t, 2> own{measures, moe::stop_signal()};
  std::vector<std::array<std::int32_t, 2>> all(static_cast<std::size_t>(world_.size));
  world_.all_gather(own.data(), all.data(), own.size(), moe::DType::i32, call_);
  last_ = std::chrono::steady_clock::now();
  bool any = false;
  for (const auto& [of_rank, signal] : all) {
    if (signal != 0) throw moe::Stopped("stopped: " + moe::stop_reason(signal), signal);
    any = any || of_rank != 0;
  }
  return any;
}

}  // namespace microbench
