#include "moe/run/core_sharing.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

namespace moe::core_sharing_test {
namespace {

struct Sharing {
  int policy = -1, niceness = -1;
  std::uint64_t slice_ns = 0;  ///< 0 where the kernel knows none
};

Sharing sharing_of_this_thread() {
  std::array<std::uint64_t, 6> attributes{};  // of the kernel's sched_attr the fourth is the slice
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0), 0);
  return {sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), attributes[3]};
}

/// Kernels are issued to a device.
class OnADevice : public Backend {
 public:
  std::string name() const override { return "device"; }
  std::byte* arena(std::int64_t) override { return nullptr; }
  std::byte* host_block(std::int64_t) override { return nullptr; }
  void lay_pattern(std::byte*, std::int64_t, std::int64_t) override {}
  std::int64_t end_of_pattern(const std::byte*, std::int64_t begin, std::int64_t) override {
    return begin;
  }
  void post(std::byte*, std::span<const std::byte>, Stream) override {}
  void download_all(std::span<const HostCopy>, Stream) override {}
  void fill(const View&, const InitialValues&) override {}
  void execute_together(std::span<const BoundOp* const>) override {}
  Mark record(Stream, bool) override { return {}; }
  void wait(Stream, Mark) override {}
  double time_of(Mark) override { return 0; }
  void forget_marks() override {}
  void* native_stream(Stream) override { return this; }
};

Sharing as(Backend& backend, Stream stream) {
  Sharing found;
  std::thread([&] {
    share_core_as(backend, stream);
    found = sharing_of_this_thread();
  }).join();
  return found;
}

/// False where this machine does not let threads set how they share a core.
bool may_be_said() {
  std::array<std::uint64_t, 6> attributes{};
  return syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0) == 0 &&
         syscall(SYS_sched_setattr, 0, attributes.data(), 0) == 0;
}

TEST(CoreSharing, ThoseThatComputeRunInBatchAndKeepTheirNiceness) {
  if (!may_be_said()) GTEST_SKIP() << "sched_setattr is refused";
  const auto cpu = make_cpu_backend(1);
  OnADevice device;
  const Sharing usual = sharing_of_this_thread();
  EXPECT_EQ(as(*cpu, Stream::compute).policy, SCHED_BATCH);
  EXPECT_EQ(as(*cpu, Stream::compute).niceness, usual.niceness);
  for (const Sharing& found :
       {as(*cpu, Stream::inter_node), as(*cpu, Stream::intra_node), as(*cpu, Stream::copy),
        as(device, Stream::compute), as(device, Stream::inter_node)}) {
    EXPECT_EQ(found.policy, SCHED_OTHER);
    EXPECT_EQ(found.niceness, usual.niceness);
    EXPECT_EQ(found.slice_ns, usual.slice_ns > 0 ? 100'000U : 0U);
  }
  EXPECT_EQ(sharing_of_this_thread().policy, usual.policy) << "of that thread alone";
}

TEST(CoreSharing, MayBeSaidAgain) {
  if (!may_be_said()) GTEST_SKIP() << "sched_setattr is refused";
  const auto cpu = make_cpu_backend(1);
  std::thread([&] {
    for (int round = 0; round < 2; ++round) {
      share_core_as(*cpu, Stream::compute);
      EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
      share_core_as(*cpu, Stream::inter_node);
      EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    }
  }).join();
}

}  // namespace
}  // namespace moe::core_sharing_test
