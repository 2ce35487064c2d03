#include "tuner/study/profile_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::profile_warning_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProfileQualities, AreMediansOfAScheduleOverAllRounds) {
  std::vector<ProfileSchedule> schedules(2);
  schedules[0].what = "sequential";
  schedules[1].what = "cut";
  const ProfileRuns runs{schedules, {1, 2, 3, 4}};  // two rounds of both
  const auto qualities = profile_qualities(runs, {{0.1, 0.2}, {-0.5, -0.3}, {0.3}, {-0.1}});
  ASSERT_EQ(qualities.size(), 2U);
  EXPECT_EQ(qualities[0].what, "sequential");
  EXPECT_DOUBLE_EQ(qualities[0].error, 0.2);
  EXPECT_EQ(qualities[1].what, "cut");
  EXPECT_DOUBLE_EQ(qualities[1].error, -0.3);
}

TEST(ProfileWarning, IsSilentWithinTenPercent) {
  EXPECT_EQ(profile_warning({{"sequential", 0.1}, {"cut", -0.1}}, 0.9), "");
  EXPECT_EQ(profile_warning({}, {}), "");
}

TEST(ProfileWarning, NamesTheWorstHowFarAndWhatOthersTook) {
  EXPECT_THAT(profile_warning({{"sequential", 0.02}, {"cut", -0.142}, {"more", 0.12}}, 0.5),
              AllOf(HasSubstr("WARNING"), HasSubstr("\"cut\" is predicted 14.2% too short"),
                    HasSubstr("Other processes took up to 50% of the processors"),
                    HasSubstr("end them"), HasSubstr("begin another study")));
}

TEST(ProfileWarning, DoesNotBlameOthersWhoTookNothing) {
  EXPECT_THAT(profile_warning({{"sequential", 0.3}}, 0.01),
              AllOf(HasSubstr("30.0% too long"), HasSubstr("not for want of processors")));
  EXPECT_THAT(profile_warning({{"sequential", 0.3}}, {}),
              AllOf(HasSubstr("not known"), Not(HasSubstr("took 0%"))));
}

TEST(ProfileWarning, ErrorsAreNamedBySchedule) {
  EXPECT_EQ(errors_by_schedule({{"sequential", 0.0042}, {"2 chunks overlapped", -0.0312}}),
            "sequential 0.4%, 2 chunks overlapped -3.1%");
}

}  // namespace
}  // namespace tuner::profile_warning_test
