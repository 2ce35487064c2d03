#include "tuner/study/study_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "tuner/planners/planners.h"

namespace tuner::study_settings_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

StudyOptions options() {
  StudyOptions o;
  o.planners = parse_planners("tutel:4,pmoe:most_chunks=6");
  return o;
}

TEST(StudySettings, NamePlannersAsAPersonWritesThem) {
  EXPECT_THAT(settings_json(options(), {}),
              HasSubstr(R"(["tutel:degree=4","pmoe:most_chunks=6"])"));
}

TEST(StudySettings, TheFirstThatDiffersIsNamed) {
  StudyOptions longer = options();
  longer.job.steps = options().job.steps + 1;
  const std::string before = settings_json(options(), {});
  EXPECT_EQ(other_setting(before, settings_json(options(), {})), "");
  EXPECT_EQ(other_setting(before, settings_json(longer, {})), "steps");
}

TEST(StudySettings, ThatNobodyWroteSoAreRefusedByWhatTheyAre) {
  for (const char* wrong : {"[]", "", "{", "7", R"({"profile_rounds": "three"})"}) {
    EXPECT_THAT([&] { how_measured(options(), wrong); },
                ThrowsMessage<moe::InputError>(HasSubstr("expected an object of settings")))
        << wrong;
  }
  EXPECT_THAT([&] { other_setting("[]", settings_json(options(), {})); },
              ThrowsMessage<moe::InputError>(HasSubstr("settings_json in the database is []")));
}

}  // namespace
}  // namespace tuner::study_settings_test
