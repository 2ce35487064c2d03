#include "moe/run/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace moe::progress_test {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;
using Verdict = Progress::Verdict;

constexpr double kNoWait_s = 0;
constexpr double kLong_s = 60;  // a test that waits so long has failed

struct ProgressTest : ::testing::Test {
  Progress progress;
  const std::array<int, 3> all{0, 1, 2};
  ProgressTest() { progress.begin(3, 0); }

  Progress::Turn look(int op, std::vector<int> first = {}, std::vector<int> second = {}) {
    return progress.await(op, first, second, kNoWait_s);
  }
  void fail(const char* why) { progress.failed(std::make_exception_ptr(std::runtime_error(why))); }
};

TEST_F(ProgressTest, AnOpThatIsNotPreparedMissesNoOtherOp) {
  const auto turn = look(1);
  EXPECT_EQ(turn.verdict, Verdict::timed_out);
  EXPECT_EQ(turn.missing, -1);
  progress.prepared(std::array{1});
  EXPECT_EQ(look(1).verdict, Verdict::go);
  EXPECT_EQ(look(2).verdict, Verdict::timed_out);
}

TEST_F(ProgressTest, AnOpWaitsForAllOfBothListsAndNamesTheFirstThatIsMissing) {
  progress.prepared(all);
  EXPECT_EQ(look(2, {0}, {1}).missing, 0);
  progress.ended(0);
  EXPECT_EQ(look(2, {0}, {1}).verdict, Verdict::timed_out);
  EXPECT_EQ(look(2, {0}, {1}).missing, 1);
  EXPECT_EQ(look(2, {0}, {}).verdict, Verdict::go);
  progress.ended(1);
  EXPECT_EQ(look(2, {0}, {1}).verdict, Verdict::go);
}

TEST_F(ProgressTest, ANewIterationForgetsWhatWasPreparedAndWhatEnded) {
  progress.prepared(all);
  progress.ended(0);
  progress.begin(3, 0);
  EXPECT_EQ(look(1).verdict, Verdict::timed_out);
  progress.prepared(all);
  EXPECT_EQ(look(1, {0}).missing, 0);
}

TEST_F(ProgressTest, AThreadThatWaitsGoesOnOnceTheLastOpHasEnded) {
  progress.prepared(all);
  auto turn = std::async(std::launch::async, [&] {
    return progress.await(2, std::array{0}, std::array{1}, kLong_s).verdict;
  });
  progress.ended(1);
  progress.ended(0);
  EXPECT_EQ(turn.get(), Verdict::go);
}

/// Times that this thread has given up its core to wait.
long sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(Progress, AnOpThatEndsWakesNoThreadThatDoesNotWaitForIt) {
  constexpr int kOps = 200;
  Progress progress;
  progress.begin(kOps, 0);
  std::vector<int> all(kOps);
  std::iota(all.begin(), all.end(), 0);
  progress.prepared(all);
  std::atomic<bool> waits = false;
  auto sleeps = std::async(std::launch::async, [&] {
    const long before = sleeps_of_this_thread();
    waits = true;
    progress.await(0, std::array{kOps - 1}, {}, kLong_s);
    return sleeps_of_this_thread() - before;
  });
  while (!waits) std::this_thread::yield();
  for (int op = 0; op < kOps; ++op) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // time in which it would wake
    progress.ended(op);
  }
  EXPECT_LE(sleeps.get(), 10);
}

TEST_F(ProgressTest, AFailureEndsEveryWaitEvenOfWhatMightGo) {
  progress.prepared(std::array{0});
  auto turn =
      std::async(std::launch::async, [&] { return progress.await(1, {}, {}, kLong_s).verdict; });
  EXPECT_FALSE(progress.has_failed());
  fail("first");
  EXPECT_EQ(turn.get(), Verdict::failed);
  EXPECT_EQ(look(0).verdict, Verdict::failed);
  EXPECT_TRUE(progress.has_failed());
}

TEST_F(ProgressTest, TheFirstFailureIsTheOneReported) {
  fail("first");
  fail("second");
  EXPECT_THAT([&] { progress.await_end(); }, ThrowsMessage<std::runtime_error>(StrEq("first")));
}

TEST(Progress, TheEndIsReachedWhenEveryThreadHasLeft) {
  Progress progress;
  auto thread = std::async(std::launch::async, [&] {
    std::vector<int> seen;
    for (int last = 0; (last = progress.await_iteration(last)) >= 0;) {
      seen.push_back(last);
      progress.ended(0);
      progress.leave_iteration();
    }
    return seen;
  });
  for (int i = 0; i < 3; ++i) {
    progress.begin(1, 1);
    progress.await_end();
    progress.prepared(std::array{0});
    EXPECT_EQ(progress.await(0, std::array{0}, {}, kNoWait_s).verdict, Verdict::go);
  }
  progress.stop();
  EXPECT_EQ(thread.get(), (std::vector<int>{1, 2, 3}));
}

TEST(Progress, TheEndWaitsForTheLastThread) {
  Progress progress;
  progress.begin(1, 2);
  auto end = std::async(std::launch::async, [&] { progress.await_end(); });
  progress.leave_iteration();
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  progress.leave_iteration();
  end.get();
}

TEST(Progress, NoIterationBeginsAfterTheStop) {
  Progress progress;
  progress.begin(1, 0);
  EXPECT_EQ(progress.await_iteration(0), 1);
  progress.stop();
  EXPECT_EQ(progress.await_iteration(0), -1);
}

}  // namespace
}  // namespace moe::progress_test
