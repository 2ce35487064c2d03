#include "tuner/study/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/load.h"
#include "moe/errors.h"
#include "tests/tuner/study/study_fixture.h"

namespace tuner::judge_test {
namespace {

using ::testing::HasSubstr;

TEST_F(StudyTest, JudgesByThePredictionsThatTheStudyMade) {
  run_study(options());
  const auto connection = db::open_reader(database);
  const JudgedStudy judged(connection, *db::find_study(connection, "s"));
  const JudgedTrials all = judged.judge({});
  const std::vector<db::Trial> stored = trials();
  ASSERT_EQ(all.trials.size(), stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    EXPECT_NEAR(all.trials[i].predicted_s, *stored[i].predicted_s, 1e-9 * *stored[i].predicted_s);
    EXPECT_EQ(all.trials[i].measured_s, *stored[i].measured_s);
  }
  const JudgedTrials by_kinds = judged.judge(CostParts{}.without(CostPart::shapes));
  EXPECT_NE(by_kinds.trials.front().predicted_s, all.trials.front().predicted_s);
}

TEST_F(StudyTest, RefusesToJudgeAStudyOfOneTrial) {
  auto o = options();
  o.planners = {};
  run_study(o);
  const auto connection = db::open_reader(database);
  try {
    const JudgedStudy judged(connection, *db::find_study(connection, "s"));
    ADD_FAILURE() << "judged";
  } catch (const moe::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("study \"s\": 1 measured trials: expected 2 or more"));
  }
}

}  // namespace
}  // namespace tuner::judge_test
