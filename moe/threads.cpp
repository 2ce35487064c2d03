#include "moe/threads.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace moe {
namespace {

constexpr std::uint64_t kShortSlice_ns = 100'000;  // the shortest time slice that Linux gives

/// The first version of the kernel's sched_attr. glibc has none before 2.41, and the kernel's
/// header conflicts with glibc's.
struct SchedulerAttributes {
  std::uint32_t size = sizeof(SchedulerAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t niceness = 0;
  std::uint32_t priority = 0;
  std::uint64_t slice_ns = 0, deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(SchedulerAttributes) == 48);

}  // namespace

void throw_no_thread(std::string_view purpose, const std::error_code& code) {
  throw std::runtime_error(
      fmt::format("no thread can be started for {}: {}: raise the limit of processes and threads "
                  "(ulimit -u, pids.max of a container) or of memory (ulimit -v)",
                  purpose, code.message()));
}

void use_core(CoreUse use) {
  SchedulerAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  const bool computes = use == CoreUse::computes;
  attributes.policy = computes ? SCHED_BATCH : SCHED_OTHER;
  attributes.slice_ns = computes ? 0 : kShortSlice_ns;  // 0: as the kernel chooses
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int current_core() { return sched_getcpu(); }

void leave_cores(std::span<const int> taken) {
  const int here = current_core();
  if (std::ranges::find(taken, here) == taken.end()) return;
  cpu_set_t permitted, others;
  if (sched_getaffinity(0, sizeof permitted, &permitted) != 0) return;
  others = permitted;
  for (const int core : taken) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &others);
  }
  if (CPU_COUNT(&others) == 0) return;
  if (sched_setaffinity(0, sizeof others, &others) == 0) {
    sched_setaffinity(0, sizeof permitted, &permitted);
  }
}

WakesAtOnce::WakesAtOnce() : computes_(sched_getscheduler(0) == SCHED_BATCH) {
  if (computes_) use_core(CoreUse::waits);
}

WakesAtOnce::~WakesAtOnce() {
  if (computes_) use_core(CoreUse::computes);
}

}  // namespace moe
