#pragma once

#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace moe {

/// Throws std::runtime_error: the system permits no thread for `purpose`, and where its limit is.
[[noreturn]] void throw_no_thread(std::string_view purpose, const std::error_code& code);

/// Starts a thread that runs `body`. Throws std::runtime_error, naming `purpose`, where the system
/// permits no more threads.
template <typename Body>
std::thread start_thread(std::string_view purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw_no_thread(purpose, error.code());
  }
}

/// How a thread shares its core with other threads.
enum class CoreUse {
  computes,  ///< it takes the core when the running thread sleeps, or at the kernel's next tick
  waits      ///< it sleeps most of the time, runs as soon as it wakes, and in short time slices
};

/// Sets how this thread, and each thread that it starts, shares its core. It needs no rights and
/// changes no niceness. Time slices need Linux 6.12; with older kernels, or where the kernel
/// refuses, threads share the core as usual.
void use_core(CoreUse use);

/// The core that this thread runs on now.
int current_core();

/// Moves this thread to another core if it runs on one of `taken` and may run elsewhere. The kernel
/// may move it again. Where a virtual machine's cores look busy while they sleep, the kernel wakes a
/// thread on the core of the thread that it works with, and both wait for each other.
void leave_cores(std::span<const int> taken);

/// While it lives, this thread uses its core as one that waits, if it is one that computes.
class WakesAtOnce {
 public:
  WakesAtOnce();
  ~WakesAtOnce();
  WakesAtOnce(const WakesAtOnce&) = delete;
  WakesAtOnce& operator=(const WakesAtOnce&) = delete;

 private:
  bool computes_ = false;
};

}  // namespace moe
