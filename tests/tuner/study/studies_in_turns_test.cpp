#include "tuner/study/studies_in_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "db/load_views.h"
#include "db/query.h"
#include "db/study_runs.h"
#include "moe/errors.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/compare/compared_trials.h"

namespace tuner::studies_in_turns_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct StudiesInTurnsTest : StudyTest {
  std::vector<StudyOptions> both() {
    std::vector<StudyOptions> studies;
    for (const char* name : {"s one", "s two"}) {
      StudyOptions& one = studies.emplace_back(options(name));
      one.part_of = "s";
      one.planners = parse_planners("sequential");
    }
    studies[1].model.micro_batches = 2;
    studies[1].job.settings = {"training.micro_batches=2"};
    return studies;
  }

  /// "s one 1", ...: the study and the number of each repeat, in the order of their trainings.
  std::vector<std::string> repeats() {
    std::vector<std::string> texts;
    const auto connection = db::open_reader(database);
    db::Query rows(connection,
                   "SELECT study.name || ' ' || repeat FROM trial_repeat JOIN trial ON trial.id = "
                   "trial_id JOIN study ON study.id = study_id ORDER BY run_id");
    while (const auto row = rows.next()) texts.push_back(std::get<std::string>((*row)[0]));
    return texts;
  }
};

TEST_F(StudiesInTurnsTest, RoundsOfStudiesTakeTurnsUnderOneNumber) {
  const std::vector<StudyOptions> studies = both();
  const std::vector<StudyEnd> ends = run_in_turns(studies);
  ASSERT_EQ(ends.size(), 2u);
  for (const StudyEnd& end : ends) EXPECT_EQ(end.failure, "");
  EXPECT_THAT(repeats(), ElementsAre("s one 1", "s two 1", "s one 2", "s two 2"));
  const auto connection = db::open_reader(database);
  for (const StudyOptions& one : studies) {
    const db::Study study = db::find_study(connection, one.name).value();
    EXPECT_EQ(study.part_of, "s");
    EXPECT_EQ(study.id, ends[static_cast<std::size_t>(&one - studies.data())].id);
  }
  const std::vector<std::int64_t> ids{ends[0].id, ends[1].id};
  const ComparedTrials compared =
      compared_trials(connection, ids, [](const db::Trial&) { return true; });
  ASSERT_EQ(compared.trials.size(), 2u);
  EXPECT_EQ(compared.sequential, 0u) << "that of the first study";
  const LogRatios ratios =
      log_ratios(compared.comparison.schedules[0], compared.comparison.schedules[1]);
  EXPECT_EQ(ratios.size(), 2u) << "both repeats are turns";
}

TEST_F(StudiesInTurnsTest, OneProfileServesAllUnlessEachIsProfiled) {
  std::vector<StudyOptions> studies = both();
  std::vector<std::string> said;
  run_in_turns(studies, [&](const std::string& text) { said.push_back(text); });
  const auto profiled = [&](const std::string& name) {
    const auto connection = db::open_reader(database);
    return db::profile_runs(db::find_study(connection, name).value()).value();
  };
  EXPECT_EQ(profiled("s one"), profiled("s two"));
  EXPECT_THAT(said, Contains(HasSubstr("costs are those of the profile of layout ep=1")));
  const auto costs = [&](const std::string& name) {
    return db::find_study(db::open_reader(database), name).value().cost_model_json;
  };
  EXPECT_EQ(costs("s one"), costs("s two"));
  for (StudyOptions& one : studies) {
    one.name += " each";
    one.profile = kProfileEach;
  }
  run_in_turns(studies);
  EXPECT_THAT(profiled("s one each"), SizeIs(profiled("s two each").size()));
  EXPECT_NE(profiled("s one each"), profiled("s two each"));
  for (StudyOptions& one : studies) {
    one.resume = true;
    one.profile.clear();  // as it was begun
  }
  run_in_turns(studies);
  EXPECT_NE(profiled("s one each"), profiled("s two each"));
}

TEST_F(StudiesInTurnsTest, GoOnWithRoundsThatCountAsTurns) {
  std::vector<StudyOptions> studies = both();
  run_in_turns(studies);
  EXPECT_THROW(run_in_turns(studies), moe::InputError) << "they exist";
  for (StudyOptions& one : studies) one.resume = true;
  studies[0].repeats = 3;  // as where it was killed between the two
  run_in_turns({studies[0]});
  for (StudyOptions& one : studies) one.repeats = 4;
  run_in_turns(studies);
  EXPECT_THAT(repeats(), ElementsAre("s one 1", "s two 1", "s one 2", "s two 2", "s one 3",
                                     "s one 4", "s two 4", "s two 5"));
}

TEST_F(StudiesInTurnsTest, OneThatFailsLeavesTheOthersAlone) {
  std::vector<StudyOptions> studies = both();
  studies[0].job.program = "/bin/false";
  std::vector<std::string> said;
  studies[0].say = [&](const std::string& text) { said.push_back(text); };
  const std::vector<StudyEnd> ends = run_in_turns(studies);
  EXPECT_NE(ends[0].failure, "");
  EXPECT_EQ(ends[1].failure, "");
  EXPECT_THAT(repeats(), ElementsAre("s two 1", "s two 2"));
  EXPECT_THAT(said, ::testing::Contains(ends[0].failure));
  const auto connection = db::open_reader(database);
  EXPECT_EQ(db::load_runs(connection, {.kind = "study", .name = "s one"}).at(0).status, "failed");
  studies[1].job.program = "/bin/false";
  for (StudyOptions& one : studies) one.name += " again";
  EXPECT_ANY_THROW(run_in_turns(studies)) << "nothing is left";
}

TEST_F(StudiesInTurnsTest, ABudgetEndsAllOfThem) {
  std::vector<StudyOptions> studies = both();
  for (StudyOptions& one : studies) one.budget_s = 1e-9;
  for (const StudyEnd& end : run_in_turns(studies)) EXPECT_TRUE(end.ended_early);
  EXPECT_THAT(repeats(), ElementsAre());
}

}  // namespace
}  // namespace tuner::studies_in_turns_test
