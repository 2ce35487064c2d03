#include "moe/threads.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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

WakesAtOnce::WakesAtOnce() : computes_(sched_getscheduler(0) == SCHED_BATCH) {
  if (computes_) use_core(CoreUse::waits);
}

WakesAtOnce::~WakesAtOnce() {
  if (computes_) use_core(CoreUse::computes);
}

}  // namespace moe
