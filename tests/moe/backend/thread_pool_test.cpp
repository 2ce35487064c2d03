#include "moe/backend/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace moe::thread_pool_test {
namespace {

using ::testing::Each;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

struct ThreadPoolWaits : ::testing::TestWithParam<std::chrono::microseconds> {
  ThreadPool pool{3, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(AsleepAndAwake, ThreadPoolWaits,
                         ::testing::Values(std::chrono::microseconds(0),
                                           std::chrono::microseconds(50),
                                           std::chrono::milliseconds(1)));

TEST_P(ThreadPoolWaits, EveryPartOfManyLoopsIsCarriedOutOnce) {
  constexpr int kLoops = 500;
  std::array<int, 3> calls{};  // each thread its own: no two write to one
  for (int loop = 0; loop < kLoops; ++loop) {
    pool.run(3, [&](int part) { ++calls[static_cast<std::size_t>(part)]; });
  }
  EXPECT_THAT(calls, Each(kLoops));
}

TEST_P(ThreadPoolWaits, PartsRunAtTheSameTime) {
  std::latch together(3);
  pool.run(3, [&](int) { together.arrive_and_wait(); });  // would not return if one waited
}

TEST_P(ThreadPoolWaits, FewerPartsThanThreadsTakeThoseAlone) {
  std::array<std::thread::id, 2> ids{};
  pool.run(2, [&](int part) { ids[static_cast<std::size_t>(part)] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  int calls = 0;
  pool.run(1, [&](int) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST_P(ThreadPoolWaits, AThreadThatFindsItUsedRunsAllParts) {
  std::latch inside(2), over(1);
  std::thread other([&] {
    pool.run(2, [&](int) {
      inside.count_down();
      over.wait();
    });
  });
  inside.wait();
  std::set<std::thread::id> ids;
  int parts = 0;
  pool.run(3, [&](int) {
    ids.insert(std::this_thread::get_id());
    ++parts;
  });
  over.count_down();
  other.join();
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
}

TEST_P(ThreadPoolWaits, AnExceptionIsThrownAgainOnceAllPartsHaveEnded) {
  for (const int thrower : {0, 2}) {
    std::atomic<int> ended = 0;
    EXPECT_THAT(
        [&] {
          pool.run(3, [&](int part) {
            ++ended;
            if (part == thrower) throw std::runtime_error("part " + std::to_string(part));
          });
        },
        ThrowsMessage<std::runtime_error>(StrEq("part " + std::to_string(thrower))));
    EXPECT_EQ(ended, 3);
  }
  EXPECT_NO_THROW(pool.run(3, [](int) {}));
}

TEST_P(ThreadPoolWaits, ABodyThatSharesALoopRunsItAlone) {
  std::atomic<int> parts = 0;
  EXPECT_TRUE(pool.run(3, [&](int) { EXPECT_FALSE(pool.run(3, [&](int) { ++parts; })); }));
  EXPECT_EQ(parts, 9);
}

TEST_P(ThreadPoolWaits, ThreadsSleepWhereThereIsNoLoop) {
  pool.run(3, [](int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto processor_s = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double before = processor_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(processor_s() - before, 0.1);
}

}  // namespace
}  // namespace moe::thread_pool_test
