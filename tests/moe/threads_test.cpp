#include "moe/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace moe::threads_test {
namespace {

TEST(WakesAtOnce, AThreadThatComputesDoesForAsLongAsItLives) {
  std::thread([] {
    use_core(CoreUse::computes);
    if (sched_getscheduler(0) != SCHED_BATCH) GTEST_SKIP() << "the kernel refuses SCHED_BATCH";
    {
      const WakesAtOnce prompt;
      EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    }
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

TEST(WakesAtOnce, ChangesNothingOnAThreadThatWaits) {
  std::thread([] {
    use_core(CoreUse::waits);
    { const WakesAtOnce prompt; }
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  }).join();
}

}  // namespace
}  // namespace moe::threads_test
