#include "tuner/study/study_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
    EXPECT_THAT(
        [&] {
          StudyOptions asked = options();
          keep_settings(asked, wrong);
        },
        ThrowsMessage<moe::InputError>(HasSubstr("expected an object of settings")))
        << wrong;
  }
  EXPECT_THAT([&] { other_setting("[]", settings_json(options(), {})); },
              ThrowsMessage<moe::InputError>(HasSubstr("settings_json in the database is []")));
}

TEST(StudySettings, ThatAreKeptAreThoseItWasBegunWithUnlessAskedFor) {
  StudyOptions usual;
  keep_settings(usual, "{}");
  EXPECT_EQ(usual.profile_rounds, kProfileRounds);
  EXPECT_EQ(usual.most_of_others, kUsualOthers);
  EXPECT_EQ(usual.refinements, 0);
  EXPECT_EQ(usual.profile, kProfileOne);
  StudyOptions begun;
  begun.refinements = 3;
  begun.profile_rounds = 2;
  begun.most_of_others = 1;
  StudyOptions resumed;
  resumed.profile_rounds = 4;
  keep_settings(resumed, settings_json(begun, {}));
  EXPECT_EQ(resumed.profile_rounds, 4);
  EXPECT_EQ(resumed.most_of_others, 1);
  EXPECT_EQ(resumed.refinements, 3);
  EXPECT_EQ(resumed.profile, kProfileOne);
  begun.profile = kProfileEach;
  StudyOptions as_begun;
  keep_settings(as_begun, settings_json(begun, {}));
  EXPECT_EQ(as_begun.profile, kProfileEach);
}

TEST(StudySettings, AreStoredUnlessTheyAreOfOneCall) {
  const auto stored = nlohmann::json::parse(settings_json(StudyOptions(), {}));
  for (const StudySetting& one : study_settings()) {
    EXPECT_EQ(stored.contains(one.key), one.on_resume.rule != OnResume::Rule::once) << one.key;
    EXPECT_THAT(option_of(one), testing::MatchesRegex("--[a-z-]+"));
    EXPECT_EQ(testing::IsSubstring("", "", "as the study was begun", help_of(one)),
              one.on_resume.rule == OnResume::Rule::kept);
  }
}

}  // namespace
}  // namespace tuner::study_settings_test
