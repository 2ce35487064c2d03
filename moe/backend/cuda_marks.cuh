#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/backend/cuda_wait.cuh"

namespace moe {

/// Events by number, reused after forget(), and how the times of those that have one relate to the
/// host's clock. Events without a time have negative numbers.
class Marks {
 public:
  std::pair<Mark, cudaEvent_t> next(bool timed) {
    const std::lock_guard lock(mutex_);
    Events& events = timed ? timed_ : untimed_;
    if (events.used == events.all.size()) {
      events.all.push_back(make_event(timed ? cudaEventDefault : cudaEventDisableTiming));
    }
    const auto place = static_cast<Mark>(events.used);
    return {timed ? place : -1 - place, events.all[events.used++].get()};
  }
  cudaEvent_t event(Mark mark) {
    const std::lock_guard lock(mutex_);
    const Events& events = mark < 0 ? untimed_ : timed_;
    return events.all.at(static_cast<std::size_t>(mark < 0 ? -1 - mark : mark)).get();
  }
  /// Forgets all marks and compares the clocks of device and host again, because event times are
  /// floats, which lose precision with the distance to the reference. Of several comparisons the
  /// shortest is kept, as the most exact.
  void forget(cudaStream_t stream, DeviceWaits& waits) {
    const std::lock_guard lock(mutex_);
    timed_.used = untimed_.used = 0;
    if (!spare_) spare_ = make_event(cudaEventDefault);
    check(cudaEventRecord(spare_.get(), stream), "cudaEventRecord");
    waits.until(spare_.get(), "earlier work");
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
      error_s_ = duration_s / 2;
      std::swap(reference_, spare_);
    }
  }
  /// 0 where it has no time.
  double time_of(Mark mark, DeviceWaits& waits) {
    const cudaEvent_t event = this->event(mark);
    waits.until(event, "the end of an op");
    if (mark < 0) return 0;
    const std::lock_guard lock(mutex_);
    float since_ms = 0;
    check(cudaEventElapsedTime(&since_ms, reference_.get(), event), "cudaEventElapsedTime");
    return reference_s_ + since_ms * 1e-3;
  }

  /// The reference was read between two times of the host; a time since then is a float.
  double error_s() {
    const std::lock_guard lock(mutex_);
    return error_s_ + (steady_clock_s() - reference_s_) * 0x1p-23;
  }

 private:
  struct Events {
    std::vector<OwnedEvent> all;
    std::size_t used = 0;
  };
  static constexpr double kSpin_s = 1e-3;

  std::mutex mutex_;
  Events timed_, untimed_;
  OwnedEvent reference_, spare_;
  double reference_s_ = 0, error_s_ = 0;
};

}  // namespace moe
