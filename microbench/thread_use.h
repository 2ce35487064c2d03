#pragma once

#include <cstdint>

namespace microbench {

/// The processor time of a thread since it began, and how often it was interrupted. The helper
/// threads of a parallel kernel count by themselves.
struct ThreadUse {
  double processor_s = 0;
  std::int64_t wakes = 0;      ///< times it slept or waited, and ran again
  std::int64_t preempted = 0;  ///< times another thread took its core although it had work
};

/// That of the calling thread.
ThreadUse thread_use();

ThreadUse operator-(const ThreadUse& later, const ThreadUse& earlier);

}  // namespace microbench
