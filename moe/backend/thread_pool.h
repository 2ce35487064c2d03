#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace moe {

/// Threads that share the parts of a loop with the thread that calls. After a loop they stay awake
/// for a while, so that the next one begins at once, and then sleep, so that others have the core.
/// Threads that stay awake keep off each other's cores.
class ThreadPool {
 public:
  /// `threads`: how many share a loop, at least 1, the calling one included. Throws
  /// std::runtime_error where the system permits no more threads.
  ThreadPool(int threads, std::chrono::nanoseconds awake);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls body(part) for each part of [0, parts), at most `threads` of them, each on a thread of
  /// its own, and returns when all have ended. Rethrows an exception of one of them. While another
  /// thread shares a loop, the calling one runs the parts in turn, and it returns false. May be used
  /// by several threads.
  template <class Body>
  bool run(int parts, const Body& body) {
    const auto call = [](const void* context, int part) {
      (*static_cast<const Body*>(context))(part);
    };
    return share(parts, {call, &body});
  }

 private:
  struct Loop {
    void (*call)(const void* context, int part) = nullptr;
    const void* context = nullptr;
  };
  /// A line of the cache for each: nothing else is written there until there is a loop.
  struct alignas(64) Worker {
    std::atomic<std::uint32_t> loops = 0;  ///< that it was called for
    std::atomic<int> core = -1;            ///< that it ran on last
    std::thread thread;
  };

  bool share(int parts, const Loop& loop);
  void end_workers();
  void carry_out(int part);
  void serve(Worker& self, int part);
  /// Moves the thread of `self` off the cores that the others ran on last. `taken` has room for all.
  void take_own_core(Worker& self, std::vector<int>& taken);
  /// Returns when `counter` is no longer `value`; true where it has slept.
  bool wait(const std::atomic<std::uint32_t>& counter, std::uint32_t value) const;

  const std::chrono::nanoseconds awake_;
  std::vector<Worker> workers_;
  std::atomic<bool> used_ = false, ending_ = false, failed_ = false;
  Loop loop_;
  std::atomic<int> callers_core_ = -1;
  std::exception_ptr failure_;                       ///< of the thread that set failed_
  alignas(64) std::atomic<std::uint32_t> left_ = 0;  ///< parts that workers have not ended
};

}  // namespace moe
