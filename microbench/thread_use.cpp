#include "microbench/thread_use.h"

#include <sys/resource.h>

#include <ctime>

namespace microbench {

ThreadUse thread_use() {
  // The times of getrusage are as old as the last tick of the clock.
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  return {static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec), use.ru_nvcsw,
          use.ru_nivcsw};
}

ThreadUse operator-(const ThreadUse& later, const ThreadUse& earlier) {
  return {later.processor_s - earlier.processor_s, later.wakes - earlier.wakes,
          later.preempted - earlier.preempted};
}

}  // namespace microbench
