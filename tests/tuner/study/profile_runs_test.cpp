#include "tuner/study/profile_runs.h"

#include <gtest/gtest.h>

namespace tuner::profile_runs_test {
namespace {

TEST(ProfileQualities, AreMediansOfAScheduleOverAllRounds) {
  std::vector<ProfileSchedule> schedules(2);
  schedules[0].what = "sequential";
  schedules[1].what = "cut";
  const ProfileRuns runs{schedules, {1, 2, 3, 4}, {0.25, std::nullopt}};  // two rounds of both
  const auto qualities = profile_qualities(runs, {{0.1, 0.2}, {-0.5, -0.3}, {0.3}, {-0.1}});
  ASSERT_EQ(qualities.size(), 2U);
  EXPECT_EQ(qualities[0].what, "sequential");
  EXPECT_DOUBLE_EQ(qualities[0].error, 0.2);
  EXPECT_EQ(qualities[0].share_of_others, 0.25);
  EXPECT_EQ(qualities[1].what, "cut");
  EXPECT_DOUBLE_EQ(qualities[1].error, -0.3);
  EXPECT_EQ(qualities[1].share_of_others, std::nullopt);
}

}  // namespace
}  // namespace tuner::profile_runs_test
