#pragma once

#include <cstdint>

namespace microbench {

/// What a thread has had of its core, since it began. Helpers of a parallel kernel are threads of their own.
struct ThreadUse {
  double processor_s = 0;
  std::int64_t wakes = 0;      ///< times it slept or waited, and ran again
  std::int64_t preempted = 0;  ///< times it was put aside for another thread, though it had work
};

/// Of the calling thread.
ThreadUse thread_use();

ThreadUse operator-(const ThreadUse& later, const ThreadUse& earlier);

}  // namespace microbench
