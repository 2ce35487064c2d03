#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <string>
#include <thread>
#include <utility>

#include "moe/backend/backend.h"
#include "moe/backend/cuda_owned.cuh"

namespace moe {

inline double steady_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// False where CUDA says "not ready". That is not an error, but CUDA keeps it as this thread's last
/// error, which the next kernel launch would find; so it is cleared here.
inline bool is_ready(cudaError_t status, const char* what, CallSite where = CallSite::current()) {
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, what, where);
  return true;
}

/// The cores that this process may use.
inline int usable_cores() {
  static const int cores = [] {
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
  }();
  return cores;
}

/// For how long a thread looks again and again before it sleeps, where `waiting` threads wait, itself
/// among them. One core in four may do nothing else: a device idles until the host knows the counts
/// of a MoE layer, or that a step is over. Where cores are few, as long as a short sleep takes.
inline double spin_s(int waiting, int cores) {
  if (4 * waiting <= cores) return 50e-3;
  return cores > 1 ? 30e-6 : 0;
}

/// How long to sleep between two looks: not at all for `spin_s`, then for a sixteenth of the time
/// waited so far. The host is thus late by little, and wakes seldom.
inline double pause_s(double waited_s, double spin_s) {
  if (waited_s < spin_s) return 0;
  return std::clamp(waited_s / 16, 20e-6, 500e-6);
}

/// By default as where many threads wait.
inline void sleep_after(double waited_s, double spins_s = spin_s(INT_MAX / 4, usable_cores())) {
  const double sleep_s = pause_s(waited_s, spins_s);
  if (sleep_s == 0) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s));
  }
}

/// Waits for one device by queries and sleeps, so that every wait has a limit and the core is free
/// meanwhile. May be called from any thread.
class DeviceWaits {
 public:
  DeviceWaits(int device, double limit_s) : device_(device), limit_s_(limit_s) {}

  void watch(DeviceWatch watch) { watch_ = std::move(watch); }
  bool expired() const { return expired_; }

  /// Returns when `event` is reached. `what` names it for messages: "a copy to the host". After the
  /// time limit it aborts other work on the device (DeviceWatch) and throws DeviceTimeLimit.
  void until(cudaEvent_t event, const char* what) {
    const double begin_s = steady_clock_s();
    const Waiting one(waiting_);
    const double spins_s = spin_s(one.count, usable_cores());
    for (double look_s = kLookEvery_s; !is_ready(cudaEventQuery(event), "cudaEventQuery");) {
      const double waited_s = steady_clock_s() - begin_s;
      if (waited_s >= limit_s_) give_up(what);
      if (waited_s >= look_s) {
        if (watch_.under_way) watch_.under_way();
        look_s = waited_s + kLookEvery_s;
      }
      sleep_after(waited_s, spins_s);
    }
  }

  /// True once no work is left on `stream`, or the device has failed; false where neither happened
  /// within `limit_s`.
  static bool ends(cudaStream_t stream, double limit_s) noexcept {
    const double begin_s = steady_clock_s();
    cudaError_t status;
    while ((status = cudaStreamQuery(stream)) == cudaErrorNotReady) {
      cudaGetLastError();
      const double waited_s = steady_clock_s() - begin_s;
      if (waited_s > limit_s) return false;
      sleep_after(waited_s);
    }
    if (status != cudaSuccess) cudaGetLastError();
    return true;
  }

 private:
  static constexpr double kLookEvery_s = 0.05;

  /// A thread that waits. `count`: how many do, with it.
  struct Waiting {
    explicit Waiting(std::atomic<int>& waiting) : all(waiting), count(++waiting) {}
    ~Waiting() { --all; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::atomic<int>& all;
    const int count;
  };

  [[noreturn]] void give_up(const char* what) {
    expired_ = true;
    const std::string other = watch_.under_way ? watch_.under_way() : std::string();
    if (watch_.abort) watch_.abort();
    throw DeviceTimeLimit("waited " + std::to_string(limit_s_) + " s for " + what +
                          " of CUDA device " + std::to_string(device_) +
                          (other.empty() ? "" : ": " + other));
  }

  int device_;
  double limit_s_;
  DeviceWatch watch_;
  std::atomic<bool> expired_ = false;
  std::atomic<int> waiting_ = 0;
};

}  // namespace moe
