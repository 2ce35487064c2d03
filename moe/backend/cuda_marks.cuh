#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/backend/cuda_wait.cuh"

namespace moe {

/// Timing events by number, reused after forget(), and how their times relate to the host's clock.
class Marks {
 public:
  std::pair<Mark, cudaEvent_t> next() {
    const std::lock_guard lock(mutex_);
    if (used_ == events_.size()) events_.push_back(make_event(cudaEventDefault));
    const auto mark = static_cast<Mark>(used_);
    return {mark, events_[used_++].get()};
  }
  cudaEvent_t event(Mark mark) {
    const std::lock_guard lock(mutex_);
    return events_.at(static_cast<std::size_t>(mark)).get();
  }
  /// Forgets all marks and compares the clocks of device and host again, because event times are
  /// floats, which lose precision with the distance to the reference. Of several comparisons the
  /// shortest is kept, as the most exact.
  void forget(cudaStream_t stream, DeviceWaits& waits) {
    const std::lock_guard lock(mutex_);
    used_ = 0;
    if (!spare_) spare_ = make_event(cudaEventDefault);
    check(cudaEventRecord(spare_.get(), stream), "cudaEventRecord");
    waits.until(spare_.get(), "the last iteration");
    double shortest_s = 0;
    for (int attempt = 0; attempt < 4; ++attempt) {
      if (!spare_) spare_ = make_event(cudaEventDefault);
      const double begin_s = steady_clock_s();
      check(cudaEventRecord(spare_.get(), stream), "cudaEventRecord");
      // Spins, since a sleep would add to the time. The stream is empty, so this takes
      // microseconds.
      while (steady_clock_s() - begin_s < kSpin_s &&
             !is_ready(cudaEventQuery(spare_.get()), "cudaEventQuery")) {
      }
      waits.until(spare_.get(), "a reading of the clock");
      const double duration_s = steady_clock_s() - begin_s;
      if (attempt > 0 && duration_s >= shortest_s) continue;
      shortest_s = duration_s;
      reference_s_ = begin_s + duration_s / 2;
      std::swap(reference_, spare_);
    }
  }
  double time_of(cudaEvent_t event, DeviceWaits& waits) {
    waits.until(event, "the end of an op");
    const std::lock_guard lock(mutex_);
    float since_ms = 0;
    check(cudaEventElapsedTime(&since_ms, reference_.get(), event), "cudaEventElapsedTime");
    return reference_s_ + since_ms * 1e-3;
  }

 private:
  static constexpr double kSpin_s = 1e-3;

  std::mutex mutex_;
  std::vector<OwnedEvent> events_;
  std::size_t used_ = 0;
  OwnedEvent reference_, spare_;
  double reference_s_ = 0;
};

}  // namespace moe
