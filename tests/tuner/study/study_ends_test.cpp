#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "db/load.h"
#include "db/load_views.h"
#include "db/store.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/study/budget.h"
#include "tuner/study/profile_runs.h"
#include "tuner/study/study_owner.h"
#include "tuner/study/trial_runs.h"

/// How a study ends that has not trained all, and how it goes on.
namespace tuner::study_ends_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// As moe-train tells that a launch has started no rank.
const std::string kStartsNothing =
    R"(echo '{"status": "not_started", "message": "ssh: refused"}'; exit 1)";

struct StudyEnds : StudyTest {
  std::vector<std::string> said;

  StudyOptions two_trials() {
    StudyOptions o = options();
    o.planners = parse_planners("tutel:2");
    o.repeats = 1;
    o.say = [this](const std::string& text) { said.push_back(text); };
    return o;
  }
  std::vector<int> repeats_of(std::size_t trial) {
    const auto connection = db::open_reader(database);
    std::vector<int> numbers;
    for (const auto& repeat : db::load_trial_repeats(connection, trials()[trial].id)) {
      numbers.push_back(repeat.repeat);
    }
    return numbers;
  }
};

TEST_F(StudyEnds, ALaunchThatStartsNothingIsNoVerdictAndIsTriedAgain) {
  StudyOptions o = two_trials();
  const std::string log = (directory / "launches").string();
  o.job.program = misbehaving("echo launched >> " + log + "; " + kStartsNothing);
  const StudyEnd end = run_study(o);
  EXPECT_THAT(end.failure, HasSubstr("no rank was started in 3 attempts: ssh: refused"));
  EXPECT_EQ(text_of(log), "launched\nlaunched\nlaunched\n") << "and no other schedule after it";
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, "planned");
    EXPECT_EQ(trial.failure, db::kNotStarted);
    EXPECT_EQ(trial.error, "ssh: refused");
  }
  EXPECT_EQ(db::load_runs(db::open_reader(database), {.kind = "study"}).front().status, "failed");

  o.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
  o.resume = true;
  EXPECT_EQ(run_study(o).failure, "");
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, "done") << trial.error;
    EXPECT_EQ(trial.failure, "");
    EXPECT_EQ(trial.error, "");
  }
}

TEST_F(StudyEnds, ALostNodeIsNoVerdictAndIsTriedAgain) {
  StudyOptions o = two_trials();
  o.job.program =
      misbehaving(R"(echo '{"status": "lost_node", "message": "ended with 205"}'; exit 1)");
  EXPECT_THAT(run_study(o).failure, HasSubstr("a node was lost"));
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, "planned");
    EXPECT_EQ(trial.failure, db::kLostNode);
  }
  o.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
  o.resume = true;
  EXPECT_EQ(run_study(o).failure, "");
  for (const db::Trial& trial : trials()) EXPECT_EQ(trial.status, "done") << trial.error;
}

TEST_F(StudyEnds, FailedTrialsAreTriedAgainWhereThatIsAskedFor) {
  StudyOptions o = two_trials();
  o.job.program = misbehaving({{2, "exit 3"}});
  run_study(o);
  EXPECT_EQ(trials()[1].failure, "out_of_memory");
  o.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
  o.resume = true;
  run_study(o);
  EXPECT_EQ(trials()[1].status, "out_of_memory");
  o.retry_failed = true;
  run_study(o);
  EXPECT_EQ(trials()[1].status, "done") << trials()[1].error;
  EXPECT_EQ(trials()[1].failure, "");
  EXPECT_THAT(said, Contains("1 failed trials are tried again"));
}

TEST_F(StudyEnds, APlannerThatJoinsIsTrainedBesideABaselineTrainedAgain) {
  StudyOptions o = two_trials();
  o.planners = parse_planners("sequential");
  run_study(o);
  EXPECT_THAT(repeats_of(0), ElementsAre(1));
  {  // it was a disturbed minute
    auto connection = db::open_writer(database);
    connection.database().exec(
        "UPDATE iteration SET duration_s = 1000 * duration_s WHERE run_id IN "
        "(SELECT run_id FROM trial_repeat);"
        "UPDATE trial_repeat SET measured_s = 1000 * measured_s");
  }
  o.planners = parse_planners("tutel:2");
  o.resume = true;
  run_study(o);
  EXPECT_THAT(repeats_of(0), ElementsAre(1, 2));
  EXPECT_THAT(repeats_of(1), ElementsAre(2));
  const auto connection = db::open_reader(database);
  const auto trial = trials()[1];
  EXPECT_LT(db::load_trial_figures(connection).at(trial.id).speedup.value(), 100)
      << "against the baseline of the disturbed minute it would be about 1000";
}

TEST_F(StudyEnds, ARoundHasANumberThatNoTrialHasNotEvenOneThatFailed) {
  StudyOptions o = two_trials();
  run_study(o);
  {
    auto connection = db::open_writer(database);
    connection.database().exec(
        "UPDATE trial SET status = 'failed' WHERE planner = 'tutel';"
        "UPDATE trial_repeat SET repeat = 7 WHERE trial_id = (SELECT id FROM trial WHERE planner = "
        "'tutel')");
  }
  o.repeats = 2;
  o.resume = true;
  run_study(o);
  EXPECT_THAT(repeats_of(0), ElementsAre(1, 8));
}

TEST_F(StudyEnds, ThatEndsInAMicroProfileIsNoFaultOfItsPlanner) {
  StudyOptions o = two_trials();
  o.repeats = 1;
  o.micro_profile_steps = 1;
  static std::string taken;  // a plan is a function without state
  taken = database;
  const auto plan = [](const Situation& situation, const PlannerOptions&) -> moe::Schedule {
    db::Connection other = db::open_writer(taken);
    db::Run run = db::load_runs(other, {.kind = "study"}).front();
    run.id = 0;
    db::insert(other, run);  // of a process that takes the study over
    situation.measure({});
    return {};
  };
  const Planner measuring{.name = "measuring", .description = "", .plan = plan, .measures = true};
  o.planners = {{&measuring, {}}};
  EXPECT_THROW(run_study(o), TakenOver);
}

TEST_F(StudyEnds, TellsEachResultTheBestAndWhatIsLeft) {
  StudyOptions o = two_trials();
  o.repeats = 2;
  run_study(o);
  EXPECT_THAT(said, Contains(HasSubstr("4 runs of 3 iterations to train in 2 trainings, about ")));
  EXPECT_THAT(said,
              Contains(HasSubstr("  tutel {\"forward_chunks\": 2, \"backward_chunks\": 2}: ")));
  EXPECT_THAT(said,
              Contains(AllOf(HasSubstr("best so far: "), HasSubstr("; 2 runs left, about "))));
}

TEST_F(StudyEnds, WhoseBudgetIsUsedEndsInOrderAndGoesOn) {
  StudyOptions o = two_trials();
  o.budget_s = 1e-6;
  EXPECT_EQ(run_study(o).failure, "") << "it was asked for";
  EXPECT_TRUE(trials().empty()) << "not even the profile began";
  EXPECT_THAT(said, Contains(HasSubstr("the budget of 0 s ends before the next training would")));
  o.budget_s = 0;
  o.resume = true;
  EXPECT_EQ(run_study(o).failure, "");
  for (const db::Trial& trial : trials()) EXPECT_EQ(trial.status, "done") << trial.error;
}

TEST_F(StudyEnds, AmidItsTrialsThoseThatWereTrainedCount) {
  StudyOptions o = two_trials();
  run_study(o);
  auto connection = db::open_writer(database);
  const db::Study study = *db::find_study(connection, "s");
  o.repeats = 3;
  int trainings_made = 0, most = 1;
  StudyTrainings trainings{o};
  trainings.before_training = [&](auto) {
    if (trainings_made++ >= most) throw EndedEarly("enough", false);
  };
  EXPECT_THROW(train_trials(connection, study, trainings), EndedEarly);
  EXPECT_THAT(repeats_of(0), ElementsAre(1, 2));
  for (const db::Trial& trial : trials()) EXPECT_EQ(trial.status, "done");
  connection.database().exec(
      "DELETE FROM trial_repeat; UPDATE trial SET status = 'planned', measured_s = NULL");
  most = 0;
  trainings_made = 0;
  EXPECT_THROW(train_trials(connection, study, trainings), EndedEarly);
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, "planned");
    EXPECT_EQ(trial.failure, "") << "nobody has tried it";
  }
}

TEST_F(StudyEnds, ADryRunTellsWhatWouldBeTrainedAndWritesNothing) {
  StudyOptions o = two_trials();
  o.dry_run = true;
  StudyEnd end = run_study(o);
  EXPECT_FALSE(std::filesystem::exists(database));
  ASSERT_EQ(end.plan.size(), 3u);
  EXPECT_EQ(end.plan[0].what, "profile");
  EXPECT_EQ(end.plan[0].runs, 4);
  EXPECT_FALSE(end.plan[0].iteration_s) << "nothing was measured yet";
  o.job.steps = 30;
  o.profile_rounds = 2;
  const StudyEnd longer = run_study(o);
  EXPECT_EQ(longer.plan[0].iterations, 30) << "the first round is as long as trials";
  EXPECT_EQ(longer.plan[1].what, "profile");
  EXPECT_EQ(longer.plan[1].iterations, kProfileSteps);
  o.job.steps = 3;
  o.profile_rounds = 1;
  EXPECT_FALSE(end.planned_bytes);
  EXPECT_EQ(end.plan[1].planner, "sequential");
  EXPECT_EQ(end.plan[2].planner, "tutel");

  o.dry_run = false;
  o.planners = parse_planners("sequential");
  run_study(o);
  o.dry_run = o.resume = true;
  o.planners = parse_planners("tutel:2");
  const std::string before = text_of(database);
  end = run_study(o);
  EXPECT_EQ(text_of(database), before);
  ASSERT_EQ(end.plan.size(), 2u) << "the profile is there";
  EXPECT_EQ(end.plan[0].planner, "sequential");
  EXPECT_EQ(end.plan[0].runs, 1) << "beside the newcomer";
  EXPECT_EQ(end.plan[1].planner, "tutel");
  EXPECT_EQ(end.plan[1].runs, 1);
  EXPECT_GT(end.plan[1].iteration_s.value(), 0);
  EXPECT_THAT(said, Contains(AllOf(HasSubstr("1 training of trials: about "),
                                   HasSubstr(" in all, and "), HasSubstr("B in the database"))));
  EXPECT_GT(end.planned_s.value(), 0);
  EXPECT_GT(end.planned_bytes.value(), 0) << "as a stored training took";

  o.name = "another";
  o.resume = false;
  end = run_study(o);
  ASSERT_EQ(end.plan.size(), 3u);
  EXPECT_GT(end.plan[0].iteration_s.value(), 0) << "by the costs of the first study";
}

}  // namespace
}  // namespace tuner::study_ends_test
