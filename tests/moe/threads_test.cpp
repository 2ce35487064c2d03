#include "moe/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <thread>

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

cpu_set_t permitted_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}

TEST(LeaveCores, MovesAThreadToAnotherOfTheCoresThatItMayUse) {
  std::thread([] {
    const cpu_set_t before = permitted_cores();
    if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core";
    bool moved = false;
    for (int i = 0; i < 100 && !moved; ++i) {  // the kernel may move it back
      const int core = current_core();
      leave_cores(std::array{core});
      moved = current_core() != core;
    }
    EXPECT_TRUE(moved);
    const cpu_set_t after = permitted_cores();
    EXPECT_TRUE(CPU_EQUAL(&after, &before));
  }).join();
}

TEST(LeaveCores, AThreadStaysWhereItMayNotRunElsewhere) {
  std::thread([] {
    const int core = current_core();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leave_cores(std::array{core});
    EXPECT_EQ(current_core(), core);
    const cpu_set_t after = permitted_cores();
    EXPECT_TRUE(CPU_EQUAL(&after, &one));
  }).join();
}

}  // namespace
}  // namespace moe::threads_test
