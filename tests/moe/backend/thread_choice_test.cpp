#include "moe/backend/thread_choice.h"

#include <gtest/gtest.h>

#include <utility>

namespace moe::thread_choice_test {
namespace {

constexpr OpSize kOp{3, 17, 10};

/// Runs an op that takes so long in either way; returns whether all threads took it.
bool run(ThreadChoice& choice, const OpSize& size, double all_s, double one_s) {
  const bool all = choice.takes_all(size);
  choice.measured(size, all, all ? all_s : one_s);
  return all;
}

int ops_on_all(ThreadChoice& choice, int ops, double all_s, double one_s) {
  int on_all = 0;
  for (int op = 0; op < ops; ++op) on_all += run(choice, kOp, all_s, one_s) ? 1 : 0;
  return on_all;
}

TEST(ThreadChoice, MeasuresBothWaysBeforeItChooses) {
  ThreadChoice choice;
  EXPECT_EQ(ops_on_all(choice, 2 * ThreadChoice::kTries, 1, 1), ThreadChoice::kTries);
}

TEST(ThreadChoice, TakesAllThreadsWhereTheySaveATwentieth) {
  for (const auto& [all_s, is_worth_it] :
       {std::pair{0.6, true}, {0.94, true}, {0.96, false}, {1.45, false}}) {
    ThreadChoice choice;
    ops_on_all(choice, 2 * ThreadChoice::kTries, all_s, 1);
    constexpr int kOthers = ThreadChoice::kFirstPeriod - 2 * ThreadChoice::kTries;
    EXPECT_EQ(ops_on_all(choice, kOthers, all_s, 1), is_worth_it ? kOthers : 0) << all_s;
  }
}

TEST(ThreadChoice, LeavesOutASingleSlowMeasurement) {
  ThreadChoice choice;
  EXPECT_TRUE(run(choice, kOp, 1000, 1000));
  ops_on_all(choice, 2 * ThreadChoice::kTries - 1, 0.5, 1);
  EXPECT_TRUE(choice.takes_all(kOp));
}

/// Measures an op that takes half as long on all threads, but for one that waited for them.
void measure_with_wait(ThreadChoice& choice, const OpSize& size, int waited) {
  for (int op = 0; op < 2 * ThreadChoice::kTries; ++op) {
    run(choice, size, op == waited ? 3e-3 : 5e-5, 1e-4);
  }
}

TEST(ThreadChoice, TakesOneThreadWhereSomeOpsWaitedLongForTheOthers) {
  ThreadChoice choice;
  const OpSize sizes[] = {{1, 10, 10}, {2, 10, 10}, {3, 10, 10}};
  for (int i = 0; i < 3; ++i) measure_with_wait(choice, sizes[i], i + 1);
  for (const OpSize& size : sizes) EXPECT_FALSE(choice.takes_all(size));
  constexpr OpSize kWorse{6, 20, 12};  // runs on one thread anyway, so its times do not count
  for (int op = 0; op < 2 * ThreadChoice::kTries; ++op) run(choice, kWorse, 3e-2, 1e-4);
  constexpr OpSize kLong{5, 20, 12};  // whose gain is larger than what the others lost
  for (int op = 0; op < 2 * ThreadChoice::kTries; ++op) run(choice, kLong, 5e-3, 1e-2);
  EXPECT_TRUE(choice.takes_all(kLong));
  EXPECT_TRUE(choice.takes_all(sizes[0]));
}

TEST(ThreadChoice, EndsARoundWhoseOpsWaitLong) {
  ThreadChoice choice;
  constexpr OpSize kSmall{1, 10, 10}, kOther{2, 10, 10};
  for (int op = 0; op < ThreadChoice::kTries; ++op) {
    EXPECT_TRUE(run(choice, kSmall, op == 2 ? 0.04 : 1e-5, 2e-5));
  }
  EXPECT_TRUE(run(choice, kOther, 1e-5, 2e-5));  // one wait is not long enough
  for (int op = 1; op < ThreadChoice::kTries; ++op) run(choice, kOther, 0.01, 2e-5);
  constexpr OpSize kNext{3, 10, 10};
  for (const OpSize& size : {kSmall, kOther, kNext}) EXPECT_FALSE(run(choice, size, 1e-5, 2e-5));
}

TEST(ThreadChoice, TakesAllThreadsWhereOpsWaitedAtOneTimeOnly) {
  ThreadChoice choice;
  const OpSize sizes[] = {{1, 10, 10}, {2, 10, 10}, {3, 10, 10}};
  for (const OpSize& size : sizes) measure_with_wait(choice, size, 2);
  for (const OpSize& size : sizes) EXPECT_TRUE(choice.takes_all(size));
}

TEST(ThreadChoice, MeasuresAllSizesAnewAtOnce) {
  ThreadChoice choice;
  constexpr OpSize kSeldom{4, 17, 10};
  run(choice, kSeldom, 2, 1);
  ops_on_all(choice, 2 * ThreadChoice::kFirstPeriod - 1, 2, 1);
  EXPECT_TRUE(run(choice, kOp, 2, 1));
  EXPECT_TRUE(run(choice, kSeldom, 2, 1));
  EXPECT_EQ(ops_on_all(choice, 2 * ThreadChoice::kTries - 1, 2, 1), ThreadChoice::kTries - 1);
}

TEST(ThreadChoice, MeasuresAnewAfterManyOps) {
  ThreadChoice choice;
  ops_on_all(choice, ThreadChoice::kFirstPeriod, 2, 1);
  EXPECT_EQ(ops_on_all(choice, 2 * ThreadChoice::kTries, 0.5, 1), ThreadChoice::kTries);
  EXPECT_TRUE(choice.takes_all(kOp));
}

TEST(ThreadChoice, MeasuresSoonAtFirstAndSeldomLater) {
  ThreadChoice choice;
  for (const int period : {64, 256, 1024, 1024}) {
    EXPECT_EQ(ops_on_all(choice, period, 2, 1), ThreadChoice::kTries) << period;
  }
}

TEST(ThreadChoice, ChoosesForEverySizeByItself) {
  ThreadChoice choice;
  ops_on_all(choice, 2 * ThreadChoice::kTries, 2, 1);
  for (const OpSize& other : {OpSize{4, 17, 10}, OpSize{3, 18, 10}, OpSize{3, 17, 11}}) {
    EXPECT_TRUE(choice.takes_all(other));
  }
  EXPECT_FALSE(choice.takes_all(kOp));
}

TEST(ThreadChoice, KnowsOpsByTheirKindAndWhatTheyWorkOn) {
  const Op add{Add{}, {}, {}, "add"}, gelu{Gelu{}, {}, {}, "gelu"};
  BoundOp small{
      &add, {{nullptr, DType::f32, 100, 10}}, {{nullptr, DType::f32, 100, 10}}, {{0, 100}}};
  BoundOp large = small;
  large.ranges = {{0, 50}, {50, 100}};
  BoundOp alike = small;
  alike.ranges = {{0, 60}, {60, 40}};
  EXPECT_EQ(size_of(small), size_of(alike));
  EXPECT_NE(size_of(small), size_of(large));
  small.op = &gelu;
  EXPECT_NE(size_of(small).kind, size_of(large).kind);
}

}  // namespace
}  // namespace moe::thread_choice_test
