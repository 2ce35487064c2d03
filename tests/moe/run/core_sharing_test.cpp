#include "moe/run/core_sharing.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

namespace moe {
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

Sharing as(Stream stream) {
  Sharing found;
  std::thread([&] {
    share_core_as(stream);
    found = sharing_of_this_thread();
  }).join();
  return found;
}

TEST(CoreSharing, ThoseThatComputeRunInBatchAndKeepTheirNiceness) {
  const Sharing usual = sharing_of_this_thread();
  EXPECT_EQ(as(Stream::compute).policy, SCHED_BATCH);
  for (const Stream stream : {Stream::inter_node, Stream::intra_node, Stream::copy}) {
    EXPECT_EQ(as(stream).policy, SCHED_OTHER);
    EXPECT_EQ(as(stream).niceness, usual.niceness);
    EXPECT_EQ(as(stream).slice_ns, usual.slice_ns > 0 ? 100'000U : 0U);
  }
  EXPECT_EQ(as(Stream::compute).niceness, usual.niceness);
  EXPECT_EQ(sharing_of_this_thread().policy, usual.policy) << "of that thread alone";
}

TEST(CoreSharing, MayBeSaidAgain) {
  std::thread([] {
    share_core_as(Stream::compute);
    share_core_as(Stream::inter_node);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    share_core_as(Stream::compute);
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace moe
