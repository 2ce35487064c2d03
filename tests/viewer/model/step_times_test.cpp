#include "viewer/model/step_times.h"

#include <gtest/gtest.h>

namespace viewer::step_times_test {
namespace {

std::vector<db::Iteration> steps(const std::vector<double>& durations_s) {
  std::vector<db::Iteration> rows(durations_s.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].iteration = static_cast<int>(10 + i);
    rows[i].duration_s = durations_s[i];
  }
  return rows;
}

TEST(StepTimes, TheFirstTwoIterationsDoNotCount) {
  const StepTimes times = step_times(steps({90, 80, 3, 1, 2}));
  EXPECT_EQ(times.median_s, 2);
  EXPECT_DOUBLE_EQ(times.p5_s, 1.1);
  EXPECT_DOUBLE_EQ(times.p95_s, 2.9);
  EXPECT_EQ(step_times(steps({4, 2})).median_s, 3) << "there are no others";
  EXPECT_EQ(step_times({}).median_s, 0);
}

TEST(StepTimes, TheMedianOfSeveralRunsIsTakenStepByStep) {
  const auto medians = median_steps({steps({1, 5}), steps({2, 6, 9}), steps({3, 4})});
  ASSERT_EQ(medians.size(), 3U);
  EXPECT_EQ(medians[0].iteration, 10);
  EXPECT_EQ(medians[0].duration_s, 2);
  EXPECT_EQ(medians[1].duration_s, 5);
  EXPECT_EQ(medians[2].duration_s, 9) << "only one run came so far";
  EXPECT_EQ(median_steps({steps({1}), steps({2})})[0].duration_s, 1.5);
  EXPECT_TRUE(median_steps({}).empty());
}

TEST(StepTimes, ChangesOfTheScheduleAreFound) {
  std::vector<db::Iteration> rows = steps({1, 1, 1, 1});
  rows[1].schedule_id = 7;
  rows[2].schedule_id = 7;
  EXPECT_EQ(step_times(rows).changes, (std::vector<int>{11, 13}));
}

}  // namespace
}  // namespace viewer::step_times_test
