#include "microbench/thread_use.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace microbench::thread_use_test {
namespace {

TEST(ThreadUse, CountsProcessorTimeOfTheCallingThreadAlone) {
  const ThreadUse before = thread_use();
  ThreadUse of_other;
  std::thread other([&] {
    const ThreadUse start = thread_use();
    while ((thread_use() - start).processor_s < 0.05) {
    }
    of_other = thread_use() - start;
  });
  other.join();
  EXPECT_GE(of_other.processor_s, 0.05);
  EXPECT_LT((thread_use() - before).processor_s, 0.025) << "it only waited";
}

TEST(ThreadUse, CountsEverySleepAsAWake) {
  const ThreadUse before = thread_use();
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const ThreadUse used = thread_use() - before;
  EXPECT_GE(used.wakes, 20);
  EXPECT_LT(used.wakes, 100);
}

}  // namespace
}  // namespace microbench::thread_use_test
