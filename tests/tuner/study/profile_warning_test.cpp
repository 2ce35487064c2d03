#include "tuner/study/profile_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::profile_warning_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProfileWarning, IsSilentWithinTenPercent) {
  EXPECT_EQ(profile_warning({{"sequential", 0.1, 0.9}, {"cut", -0.1, 0.9}}), "");
  EXPECT_EQ(profile_warning({}), "");
}

TEST(ProfileWarning, NamesTheWorstHowFarAndWhatOthersTook) {
  EXPECT_THAT(
      profile_warning({{"sequential", 0.02, 0.5}, {"cut", -0.142, 0.38}, {"more", 0.12, 0.1}}),
      AllOf(HasSubstr("WARNING"), HasSubstr("\"cut\" is predicted 14.2% too short"),
            HasSubstr("Other processes took 38% of the processors"), HasSubstr("up to 50%"),
            HasSubstr("begin another study")));
}

TEST(ProfileWarning, DoesNotBlameOthersWhoTookNothing) {
  EXPECT_THAT(profile_warning({{"sequential", 0.3, 0.01}}),
              AllOf(HasSubstr("30.0% too long"), HasSubstr("not for want of processors")));
  EXPECT_THAT(profile_warning({{"sequential", 0.02, 0.5}, {"cut", -0.14, 0.01}}),
              AllOf(HasSubstr("up to 50%"), HasSubstr("end them")));
  EXPECT_THAT(profile_warning({{"sequential", 0.3, std::nullopt}}),
              AllOf(HasSubstr("not known"), Not(HasSubstr("took 0%"))));
}

TEST(ProfileWarning, ErrorsAreNamedBySchedule) {
  EXPECT_EQ(errors_by_schedule({{"sequential", 0.0042, 0.5}, {"2 chunks overlapped", -0.0312, {}}}),
            "sequential 0.4%, 2 chunks overlapped -3.1%");
}

}  // namespace
}  // namespace tuner::profile_warning_test
