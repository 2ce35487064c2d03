#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "db/check.h"
#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/run/machine.h"
#include "moe/stop.h"
#include "moe/train/train_store.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/study/refinement.h"
#include "tuner/study/study_settings.h"

namespace tuner::study_resume_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(StudyTest, AnExistingNameNeedsResume) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.repeats = 1;
  run_study(o);
  try {
    run_study(o);
    FAIL();
  } catch (const moe::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--resume"));
  }
  o.resume = true;
  EXPECT_NO_THROW(run_study(o));
  o.job.steps = 4;
  EXPECT_THROW(run_study(o), moe::InputError);  // other inputs would not be comparable
}

TEST_F(StudyTest, IsNotContinuedOverAnotherNetwork) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.repeats = 1;
  run_study(o);
  o.resume = true;
  const auto measured_on = [&](const std::string& network) {
    db::open_writer(database).database().exec("UPDATE run SET network = '" + network + "'");
  };
  measured_on("box 0.02 Gbit/s");
  const auto runs = [&] { return db::load_runs(db::open_reader(database)).size(); };
  const std::size_t before = runs();
  o.repeats = 2;
  try {
    run_study(o);
    FAIL();
  } catch (const moe::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("was measured elsewhere: network box 0.02 Gbit/s, here "));
  }
  EXPECT_EQ(runs(), before) << "nothing was trained";
}

TEST_F(StudyTest, PredictsAllAgainByTheCostsOfALaterProfile) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.given = {(directory / "int8.json").string()};
  std::ofstream(o.given.front()) << R"({"decisions": [
    {"decision": "compress_exchange", "layer": 1, "phase": "forward", "format": "int8"}]})";
  o.repeats = 1;
  run_study(o);
  ASSERT_EQ(trials().size(), 2U);
  const double before_s = trials().front().predicted_s.value();
  const double given_before_s = trials().back().predicted_s.value();
  ASSERT_EQ(trials().back().planner, "given");
  o.planners = parse_planners("sequential,tutel");
  o.profile_rounds = 2;  // other costs, as nothing takes the same time twice
  o.resume = true;
  run_study(o);
  EXPECT_NE(trials()[1].predicted_s.value(), given_before_s);
  const db::Trial sequential = trials().front();
  EXPECT_EQ(sequential.planner, "sequential");
  EXPECT_NE(sequential.predicted_s.value(), before_s);
  EXPECT_TRUE(sequential.measured_s.has_value());
  const auto connection = db::open_reader(database);
  const auto predicted =
      db::load_timelines(connection, {.trial_id = sequential.id, .kind = "predicted"});
  ASSERT_EQ(predicted.size(), 1U) << "the earlier one is gone";
  EXPECT_EQ(predicted.front().duration_s, sequential.predicted_s.value());
}

TEST_F(StudyTest, AnEndAmidPredictingAgainLeavesItToTheNext) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.repeats = 1;
  run_study(o);
  const double right_s = trials().front().predicted_s.value();
  const auto costs = [&] {
    return db::find_study(db::open_reader(database), o.name)->cost_model_json;
  };
  const std::string right = costs();
  {
    auto connection = db::open_writer(database);
    auto study = db::find_study(connection, o.name).value();
    study.cost_model_json = to_json(CostModel{});
    db::update_study(connection, study);
    connection.database().exec("UPDATE trial SET predicted_s = 1, planner = 'nobody'");
  }
  o.resume = true;
  EXPECT_THROW(run_study(o), moe::InputError) << "there is no such planner";
  EXPECT_EQ(costs(), "")
      << "neither: some trials may be predicted by the one and some by the other";
  db::open_writer(database).database().exec("UPDATE trial SET planner = 'sequential'");
  run_study(o);
  EXPECT_EQ(trials().front().predicted_s.value(), right_s);
  EXPECT_EQ(costs(), right);
}

TEST_F(StudyTest, CostsThatAnotherBuildStoredInAnotherFormAreWorkedOutAgain) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.repeats = 1;
  run_study(o);
  const double right_s = trials().front().predicted_s.value();
  const auto costs = [&] {
    return db::find_study(db::open_reader(database), o.name)->cost_model_json;
  };
  const std::string right = costs();
  {
    auto connection = db::open_writer(database);
    auto study = db::find_study(connection, o.name).value();
    nlohmann::json other = nlohmann::json::parse(right);
    other["gaps"] = {{"same_stream_s", 0}, {"other_stream_s", 0}};
    study.cost_model_json = other.dump();
    db::update_study(connection, study);
    connection.database().exec("UPDATE trial SET predicted_s = 1");
  }
  o.resume = true;
  run_study(o);
  EXPECT_EQ(costs(), right);
  EXPECT_EQ(trials().front().predicted_s.value(), right_s);
}

TEST_F(StudyTest, RefinesItsCostsByWhatItMeasuredAndMeasuresWhatIsThenAmongTheBest) {
  auto o = options();
  o.planners = parse_planners("tutel,pipemoe");
  o.top = 2;
  o.repeats = 1;
  o.refinements = 2;
  std::vector<std::string> said;
  o.say = [&](const std::string& text) { said.push_back(text); };
  run_study(o);
  const auto connection = db::open_reader(database);
  const db::Study study = db::find_study(connection, o.name).value();
  const Refinements refinements = refinements_of(study);
  ASSERT_GE(refinements.size(), 1u);
  EXPECT_EQ(refinements.front().size(), 3u) << "sequential and the two best, each once";
  EXPECT_THAT(said, Contains(HasSubstr("refinement 1 of 2: with costs fitted to 3 measured runs")));
  std::vector<double> by_prediction;
  for (const db::Trial& trial : trials()) {
    by_prediction.push_back(*trial.predicted_s);
    if (trial.planner == "sequential") {
      EXPECT_NE(trial.first_predicted_s, std::nullopt);
    }
    EXPECT_NE(trial.first_predicted_s, trial.predicted_s);
  }
  // By the newest costs the best are measured, whatever the first costs said of them.
  std::ranges::sort(by_prediction);
  for (const db::Trial& trial : trials()) {
    if (*trial.predicted_s <= by_prediction[1]) {
      EXPECT_EQ(trial.status, "done");
    }
  }
  EXPECT_TRUE(db::find_problems(connection, 3600).empty());
}

TEST_F(StudyTest, AnEndAmidARefinementLeavesItToTheNext) {
  auto o = options();
  o.repeats = 1;
  o.refinements = 1;
  run_study(o);
  const auto study = [&] { return db::find_study(db::open_reader(database), o.name).value(); };
  const auto known = trials();
  const db::Study right = study();
  {  // as it is after an end between the refinement's first prediction and its last
    auto connection = db::open_writer(database);
    auto interrupted = right;
    interrupted.cost_model_json.clear();
    db::update_study(connection, interrupted);
    connection.database().exec(
        "UPDATE trial SET predicted_s = first_predicted_s, first_predicted_s = NULL "
        "WHERE id = (SELECT max(id) FROM trial)");
  }
  o.resume = true;
  run_study(o);
  EXPECT_EQ(study().cost_model_json, right.cost_model_json);
  EXPECT_EQ(study().refinement_runs_json, right.refinement_runs_json);
  const auto again = trials();
  ASSERT_EQ(again.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(again[i].first_predicted_s, known[i].first_predicted_s);
    EXPECT_EQ(again[i].predicted_s, known[i].predicted_s);
    EXPECT_EQ(again[i].measured_s, known[i].measured_s);
  }
}

TEST_F(StudyTest, ATrialThatARefinementPlannedHasNoFirstPrediction) {
  auto o = options();
  o.repeats = 1;
  o.refinements = 1;
  run_study(o);
  {  // as after a first refinement that planned the last trial, before a second one
    auto connection = db::open_writer(database);
    auto study = db::find_study(connection, o.name).value();
    study.cost_model_json.clear();
    db::update_study(connection, study);
    connection.database().exec(
        R"(UPDATE trial SET first_predicted_s = NULL, parameters_json = '{"refinement": 1}' )"
        "WHERE id = (SELECT max(id) FROM trial)");
  }
  o.resume = true;
  run_study(o);
  const auto rows = trials();
  EXPECT_EQ(rows.back().first_predicted_s, std::nullopt);
  EXPECT_NE(rows.front().first_predicted_s, std::nullopt);
}

TEST_F(StudyTest, AResumedRefinedStudyJudgesItsProfileWithoutWhatTheRefinementAdded) {
  auto o = options();
  o.repeats = 1;
  o.refinements = 1;
  std::string of_profile;
  o.say = [&](const std::string& text) {
    if (text.find("profiled iterations are predicted") != std::string::npos) of_profile = text;
  };
  run_study(o);
  const std::string first = of_profile;
  const auto known = trials();
  ASSERT_NE(first, "");
  of_profile.clear();
  o.resume = true;
  run_study(o);
  EXPECT_EQ(of_profile, first);
  const auto again = trials();
  ASSERT_EQ(again.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(again[i].predicted_s, known[i].predicted_s);
  }
}

TEST_F(StudyTest, SaysWhichKeysOfItsModelDifferFromWhatItWasBegunWith) {
  auto o = options();
  o.resume = true;
  o.model.gate = "bias_adjusted";
  o.model.own["bias_speed"] = 0.5;
  {
    auto connection = db::open_writer(database);
    db::Study begun;
    begun.name = o.name;
    begun.model_json = moe::to_json(o.model);
    begun.settings_json = "{}";
    begun.ranks = o.job.ranks;
    db::insert(connection, begun);
  }
  o.model.own["bias_speed"] = 8.0;
  o.model.learning_rate = 0.25;
  try {
    run_study(o);
    FAIL() << "another model";
  } catch (const moe::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("was begun with another model (bias_speed was 0.5, now 8; "
                                        "learning_rate was "));
  }
}

TEST_F(StudyTest, IsNotContinuedUnderAnotherLayout) {
  auto o = options();
  o.job.ranks = 2;
  o.resume = true;
  {
    auto connection = db::open_writer(database);
    db::Study begun;
    begun.name = o.name;
    begun.model_json = moe::to_json(o.model);
    begun.settings_json = "{}";
    begun.ranks = 2;
    begun.layout = to_text(moe::parse_layout("dp=2", 2));
    db::insert(connection, begun);
  }
  const auto refusal = [&](const std::string& layout) -> std::string {
    o.job.layout = layout;
    try {
      run_study(o);
    } catch (const moe::InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(""),
              HasSubstr("was begun with layout dp=2,ep=1,esp=1,tp=1,pp=1, not dp=1,ep=2,"));
  EXPECT_THAT(refusal("dp=2"), HasSubstr("another routing")) << "the layout is the same";
}

TEST_F(StudyTest, ResumesWhenTheProcessIdOfAKilledStudyIsInUseAgain) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.repeats = 1;
  run_study(o);
  const pid_t stranger = fork();
  if (stranger == 0) {
    execl("/bin/sleep", "sleep", "100", static_cast<char*>(nullptr));
    _exit(127);
  }
  {
    auto connection = db::open_writer(database);
    const char* const argv[] = {"moe-tune", "study", "s"};
    db::Run run = db::this_run("study", "s", 3, argv);
    run.machine_id = db::find_or_insert(connection, moe::this_machine());
    run.pid = stranger;
    db::insert(connection, run);
  }
  o.resume = true;
  EXPECT_NO_THROW(run_study(o));
  EXPECT_TRUE(db::load_runs(db::open_reader(database), {"", "", "running", 0}).empty());
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
}

TEST_F(StudyTest, AskedToEndItEndsInOrderAndGoesOnLater) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    const std::string name = "asked by " + std::to_string(signal);
    const std::string log = (directory / "begun").string();
    std::filesystem::remove(log);
    auto o = options(name);
    o.repeats = 1;
    o.job.program = misbehaving({{2, "echo begun > " + log + "; exec sleep 100"}});
    const pid_t child = fork();
    if (child == 0) {
      moe::stop_when_asked();
      try {
        run_study(o);
        _exit(0);
      } catch (const std::exception& error) {
        _exit(moe::exit_code(error));
      }
    }
    for (int i = 0; i < 1000 && !std::filesystem::exists(log); ++i) usleep(20000);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    for (const db::Run& run : db::load_runs(db::open_reader(database), {"study", name, "", 0})) {
      EXPECT_EQ(run.status, "killed");
      EXPECT_THAT(run.error, HasSubstr(strsignal(signal)));
    }
    for (const db::Trial& trial : trials(name)) EXPECT_NE(trial.status, "running");
    o.job.program = MOELAB_BINARY_DIR "/bin/moe-train";
    o.resume = true;
    run_study(o);
    for (const db::Trial& trial : trials(name)) EXPECT_EQ(trial.status, "done") << trial.error;
  }
}

// The program itself, killed at five random moments; what was finished stays as it was, and the
// study ends as if nothing had happened.
TEST_F(StudyTest, SurvivesBeingKilled) {
  const std::vector<std::string> argv{MOELAB_BINARY_DIR "/bin/moe-tune",
                                      "study",
                                      "killed",
                                      "--model",
                                      "micro",
                                      "--db",
                                      database,
                                      "--planners",
                                      "tutel",
                                      "--most-chunks",
                                      "3",
                                      "--top",
                                      "all",
                                      "--repeats",
                                      "3",
                                      "--steps",
                                      "3",
                                      "--profile-rounds",
                                      "1",
                                      "--most-of-others",
                                      "1",
                                      "--resume"};
  using Repeats = std::map<std::pair<std::int64_t, int>, std::pair<std::int64_t, double>>;
  const auto finished = [&] {
    Repeats repeats;
    if (!std::filesystem::exists(database)) return repeats;
    const auto connection = db::open_reader(database);
    const auto study = db::find_study(connection, "killed");
    if (!study) return repeats;
    for (const db::Trial& trial : db::load_trials(connection, study->id)) {
      for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
        repeats[{trial.id, repeat.repeat}] = {repeat.run_id.value_or(0), repeat.measured_s};
      }
    }
    return repeats;
  };
  std::mt19937 random(std::random_device{}());
  for (int kills = 0; kills < 5; ++kills) {
    const Repeats before = finished();
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char*> arguments;
      for (const auto& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
      arguments.push_back(nullptr);
      freopen("/dev/null", "w", stdout);
      freopen("/dev/null", "w", stderr);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 2500));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!std::filesystem::exists(database)) continue;
    const Repeats after = finished();
    for (const auto& [key, value] : before) EXPECT_EQ(after.at(key), value);
    const auto connection = db::open_reader(database);
    EXPECT_TRUE(db::find_problems(connection, 3600).empty());
  }
  const Repeats before = finished();
  std::string command;
  for (const auto& a : argv) command += "'" + a + "' ";
  ASSERT_EQ(std::system((command + "> /dev/null 2>&1").c_str()), 0);
  const Repeats after = finished();
  std::size_t of_others = 0, others = 0;  // sequential stands in every round, uncounted
  for (const db::Trial& trial : trials("killed")) {
    if (trial.planner == "sequential") continue;
    ++others;
    for (const auto& [key, value] : after) of_others += key.first == trial.id ? 1 : 0;
  }
  EXPECT_EQ(of_others, others * 3);
  for (const auto& [key, value] : before) EXPECT_EQ(after.at(key), value);
  for (const db::Trial& trial : trials("killed")) EXPECT_EQ(trial.status, "done") << trial.error;
  for (const db::Run& run : db::load_runs(db::open_reader(database))) {
    EXPECT_NE(run.status, "running") << run.kind << " " << run.id;
  }
}

}  // namespace
}  // namespace tuner::study_resume_test
