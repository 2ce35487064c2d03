#include "tuner/study/study.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "db/check.h"
#include "db/load.h"
#include "db/load_views.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/train/train_store.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/compare/comparison.h"
#include "tuner/planners/mpmoe/memory_reuse.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/profile.h"

namespace tuner::study_test {
namespace {

using ::testing::HasSubstr;

TEST_F(StudyTest, PutsPaperPredictedAndMeasuredIntoOneRow) {
  auto o = options();
  o.profile_rounds = 3;
  std::string said;
  o.say = [&](const std::string& text) { said += text + "\n"; };
  run_study(o);
  EXPECT_THAT(said, HasSubstr("fastest: "));
  EXPECT_THAT(said, HasSubstr("predictions of 4 trials: mean error "));
  const auto rows = trials();
  ASSERT_EQ(rows.size(), 4u);  // sequential, tutel 1, 2, 3
  EXPECT_EQ(rows[0].planner, "sequential");
  const auto connection = db::open_reader(database);
  const auto profiled = nlohmann::json::parse(db::find_study(connection, "s")->profile_runs_json);
  ASSERT_EQ(profiled.size(), 3u * 4u) << "four schedules, in three rounds";
  for (std::size_t run = 4; run < profiled.size(); ++run) {
    EXPECT_EQ(decisions_of_run(connection, profiled[run]),
              decisions_of_run(connection, profiled[run - 4]));
    EXPECT_GT(profiled[run], profiled[run - 1]);
  }
  const Turns sequential =
      measured_turns(connection, db::load_trial_repeats(connection, rows[0].id));
  for (const db::Trial& trial : rows) {
    EXPECT_EQ(trial.status, "done") << trial.error;
    EXPECT_GT(*trial.paper_s, 0);
    EXPECT_GT(*trial.measured_s, 0);
    const Turns turns = measured_turns(connection, db::load_trial_repeats(connection, trial.id));
    EXPECT_DOUBLE_EQ(*trial.measured_s, median_s(sequential) / speedup_over(sequential, turns));
    EXPECT_TRUE(trial.least_speedup && trial.most_speedup);
    EXPECT_LE(*trial.lower_bound_s, *trial.predicted_s);
    EXPECT_EQ(trial.predicted_peak_bytes, trial.measured_peak_bytes);
    EXPECT_NE(trial.bounded_by, "");
    EXPECT_EQ(db::load_trial_repeats(connection, trial.id).size(), 2u);
    const auto timelines = db::load_timelines(connection, {0, trial.id, ""});
    ASSERT_EQ(timelines.size(), 3u);  // predicted, and one of each repeat
    // Predicted and measured hold the same ops in the same order.
    const auto predicted = db::load_timeline_ops(connection, timelines[0].id);
    const auto measured = db::load_timeline_ops(connection, timelines[1].id);
    ASSERT_EQ(predicted.size(), measured.size());
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      EXPECT_EQ(predicted[i].name, measured[i].name);
      EXPECT_EQ(predicted[i].stream, measured[i].stream);
      EXPECT_EQ(predicted[i].chunk, measured[i].chunk);
    }
    EXPECT_EQ(db::load_spans(connection, timelines[0].id).size(),
              db::load_spans(connection, timelines[1].id).size());
  }
  EXPECT_TRUE(db::find_problems(connection, 3600).empty());
  EXPECT_FALSE(db::load_latest_fits(connection).empty());
}

TEST_F(StudyTest, MeasuresATrialByAllItsIterationsAndKeepsThreeOfEachRepeat) {
  auto o = options();
  o.job.steps = 6;
  o.top = 1;
  run_study(o);
  auto connection = db::open_writer(database);
  const auto rows = trials();
  std::size_t done = 0;
  for (const db::Trial& trial : rows) {
    if (trial.status != "done") continue;
    ++done;
    const Turns turns = measured_turns(connection, db::load_trial_repeats(connection, trial.id));
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns.begin()->second.size(), 4u) << "six iterations, without warm-up";
    if (trial.planner == "sequential") {
      EXPECT_EQ(*trial.measured_s, median_s(turns));
    }
    EXPECT_EQ(db::load_timelines(connection, {0, trial.id, ""}).size(), 1u + 2u * 3u);
  }
  EXPECT_EQ(done, 2u);
  connection.database().exec("UPDATE trial SET measured_s = 7 WHERE measured_s > 0");
  o.resume = true;
  run_study(o);
  const auto again = trials();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(again[i].measured_s, rows[i].measured_s);
    EXPECT_EQ(again[i].least_speedup, rows[i].least_speedup);
  }
}

TEST_F(StudyTest, PredictsJointNoSlowerThanThePlannersItStartsFrom) {
  auto o = options();
  o.job.ranks = 2;
  o.job.steps = 8;  // several iterations after warm-up, each with its routing
  o.planners = parse_planners("tutel,fsmoe,lancet,eplb,joint");
  o.top = 1;
  o.repeats = 1;
  run_study(o);
  const auto rows = trials();
  const auto joint = std::ranges::find(rows, "joint", &db::Trial::planner);
  if (joint == rows.end()) {
    EXPECT_TRUE(std::ranges::any_of(rows, [](const db::Trial& trial) {
      return trial.also_planned_by.find("joint") != std::string::npos;
    }));
    return;
  }
  for (const db::Trial& trial : rows) {
    EXPECT_LE(*joint->predicted_s, *trial.predicted_s) << trial.planner << trial.parameters_json;
  }
}

TEST_F(StudyTest, RunsTheBestOfEachPlannerWhereAskedTo) {
  auto o = options();
  o.planners = parse_planners("tutel,pipemoe");
  o.top = kTopOfEachPlanner;
  o.repeats = 1;
  run_study(o);
  const auto study = db::find_study(db::open_reader(database), "s");
  EXPECT_EQ(nlohmann::json::parse(study->profile_runs_json).size(), 4u);
  std::map<std::string, double> best, done;
  const auto note = [](std::map<std::string, double>& least, const std::string& planner, double s) {
    double& known = least.try_emplace(planner, s).first->second;
    known = std::min(known, s);
  };
  bool has_trial_of_both = false;
  for (const db::Trial& trial : trials()) {
    std::vector<std::string> planners{trial.planner};
    if (!trial.also_planned_by.empty()) planners.push_back(trial.also_planned_by);
    has_trial_of_both |= trial.planner == "tutel" && trial.also_planned_by == "pipemoe";
    for (const std::string& planner : planners) {
      note(best, planner, *trial.predicted_s);
      if (trial.status == "done") note(done, planner, *trial.predicted_s);
    }
  }
  EXPECT_EQ(best.size(), 3u);
  EXPECT_EQ(done, best);
  EXPECT_TRUE(has_trial_of_both) << "pipemoe cuts forward and backward alike too";
}

TEST_F(StudyTest, PredictedAndMeasuredSpansMatchOpForOp) {
  auto o = options();
  o.repeats = 1;
  run_study(o);
  const auto connection = db::open_reader(database);
  const auto groups = moe::make_groups(1, 1);
  const auto whole = moe::build_iteration(o.model, groups, 0);
  CostModel costs;
  costs.fits[gemm_fit("f64")].beta_s_per_unit = costs.fits["memory"].beta_s_per_unit = 1e-10;
  Cluster cluster;
  cluster.inter_node = cluster.intra_node = {1e9, 0};
  for (const db::Trial& trial : trials()) {
    const auto schedule = db::load_schedule(connection, trial.schedule_id);
    const auto program = moe::apply(whole, moe::schedule_from_json(schedule.json));
    const auto measured = db::load_timelines(connection, {0, trial.id, "measured"}).at(0);
    const auto routing =
        recorded_routing(connection, *measured.run_id, measured.iteration, whole, groups);
    const auto predicted = moe::timeline_rows(
        program, simulate(program, groups, routing, costs, cluster), routing, groups);
    const auto ops = db::load_timeline_ops(connection, measured.id);
    auto spans = db::load_spans(connection, measured.id);
    std::sort(spans.begin(), spans.end(),
              [](const db::Span& a, const db::Span& b) { return a.op < b.op; });
    ASSERT_EQ(ops.size(), predicted.ops.size());
    ASSERT_EQ(spans.size(), predicted.spans.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(ops[i].name, predicted.ops[i].name);
      EXPECT_EQ(ops[i].stream, predicted.ops[i].stream);
      EXPECT_EQ(spans[i].op, predicted.spans[i].op);
      EXPECT_EQ(spans[i].bytes, predicted.spans[i].bytes) << ops[i].name;
      EXPECT_EQ(spans[i].flops, predicted.spans[i].flops) << ops[i].name;
    }
  }
}

TEST_F(StudyTest, TriesWhatIsGivenBesideAndTellsItsEffectOnLoss) {
  auto o = options();
  o.planners = parse_planners("tutel:2");
  o.repeats = 1;
  o.given = {(directory / "int8.json").string()};
  EXPECT_THROW(run_study(o), moe::InputError) << "there is no such file yet";
  EXPECT_FALSE(std::filesystem::exists(database));
  std::ofstream(o.given.front()) << R"({"decisions": [
    {"decision": "compress_exchange", "layer": 1, "phase": "forward", "format": "int8"}]})";
  std::string said;
  o.say = [&](const std::string& text) { said += text + "\n"; };
  run_study(o);
  EXPECT_THAT(said, HasSubstr("compress_exchange changes results"));
  const auto connection = db::open_reader(database);
  const auto figures = db::load_trial_figures(connection);
  std::map<std::string, db::TrialFigures> by_name;
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, "done") << trial.error;
    by_name[trial.planner + " " + trial.parameters_json] = figures.at(trial.id);
  }
  ASSERT_EQ(by_name.size(), 4u);
  EXPECT_THAT(db::find_study(connection, "s")->cost_model_json, HasSubstr("\"pack_rows_f64\""))
      << "what only the given decisions run is profiled too";
  const std::string chunks = R"("forward_chunks": 2, "backward_chunks": 2})";
  const db::TrialFigures& sequential = by_name.at("sequential {}");
  EXPECT_EQ(sequential.loss_difference, 0);
  EXPECT_NEAR(by_name.at("tutel {" + chunks).loss_difference.value(), 0, 1e-9);
  const db::TrialFigures& given = by_name.at(R"(given {"given": "int8"})");
  EXPECT_EQ(given.changes_results, "compress_exchange");
  EXPECT_EQ(given.sequential_last_loss, sequential.last_loss);
  EXPECT_GT(std::abs(given.loss_difference.value()), 1e-7) << "rows were rounded to 8 bits";
  EXPECT_LT(std::abs(given.loss_difference.value()), 0.1);
  EXPECT_NEAR(by_name.at(R"(tutel {"given": "int8", )" + chunks).loss_difference.value(),
              given.loss_difference.value(), 1e-9);
}

TEST_F(StudyTest, ChoosesByMicroProfilesThatItRunsOnce) {
  auto o = options();
  o.planners = parse_planners("sequential");
  o.repeats = 1;
  o.micro_profile_steps = 2;
  o.resume = true;
  o.job.program = misbehaving({{3, "exit 1"}});
  run_study(o);
  const auto fits = [&] { return db::load_latest_fits(db::open_reader(database)); };
  const auto of_offloading = [](const db::Fit& fit) { return fit.op.starts_with("offload_rows["); };
  ASSERT_TRUE(std::ranges::none_of(fits(), of_offloading));
  const Planner refusing{.name = "refusing",
                         .description = "",
                         .plan = [](const Situation&, const PlannerOptions&) -> moe::Schedule {
                           throw moe::Refusal("refusing", "not here", "expected another model");
                         }};
  o.planners = parse_planners("mpmoe_pb");
  o.planners.push_back({&refusing, {}});
  std::string said;
  o.say = [&](const std::string& text) { said += text + "\n"; };
  run_study(o);
  EXPECT_THAT(said, HasSubstr("chosen by micro-profiles"));
  EXPECT_THAT(said, HasSubstr("offloaded on one stream")) << "copies are profiled";
  EXPECT_THAT(said, HasSubstr("left out: refusing: refusing: not here: expected another model"));
  const auto profiled = [&] {
    return db::load_measurements(db::open_reader(database), {.op = "micro_profile"});
  };
  const auto measured = profiled();
  ASSERT_GE(measured.size(), 4u * 2u) << "each strategy in 1 and 2 chunks";
  const auto connection = db::open_reader(database);
  double least = std::numeric_limits<double>::infinity();
  std::int64_t best = 0;
  for (const db::Measurement& row : measured) {
    const auto parameters = nlohmann::json::parse(row.parameters_json);
    EXPECT_EQ(parameters.at("study"), "s");
    EXPECT_EQ(parameters.at("planner"), "mpmoe_pb");
    if (parameters.at("status") != "done") {
      EXPECT_EQ(row.samples, 0);
      continue;
    }
    EXPECT_EQ(row.samples, o.micro_profile_steps);
    EXPECT_LE(row.min_s, row.time_s);
    EXPECT_GE(row.max_s, row.time_s);
    const db::Run run = db::load_run(connection, parameters.at("run"));
    EXPECT_EQ(run.planner, "micro-profile");
    EXPECT_EQ(run.schedule_id, parameters.at("schedule"));
    if (row.time_s >= least) continue;
    least = row.time_s;
    best = parameters.at("schedule");
  }
  const auto rows = trials();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].planner, "mpmoe_pb");
  EXPECT_EQ(rows[1].schedule_id, best);
  EXPECT_EQ(rows[1].status, "done") << rows[1].error;
  EXPECT_THAT(db::find_study(connection, "s")->cost_model_json, HasSubstr("offload_rows["));
  const auto with_copies = fits();
  EXPECT_TRUE(std::ranges::any_of(with_copies, of_offloading));
  EXPECT_TRUE(db::find_problems(connection, 3600).empty());

  run_study(o);
  EXPECT_EQ(profiled().size(), measured.size());
  EXPECT_EQ(fits().back().id, with_copies.back().id) << "nothing new to store";
  o.planners = parse_planners("mpmoe_pb,tutel:2");
  o.job.copy_gbps = 1;
  EXPECT_THROW(run_study(o), moe::InputError) << "other copies would not be comparable";
}

TEST_F(StudyTest, AResumedStudyOfMicroProfilesKeepsItsCostsAndPredictions) {
  auto o = options();
  o.planners = parse_planners("mpmoe_pb");
  o.repeats = 1;
  o.micro_profile_steps = 2;
  run_study(o);
  const std::string costs = db::find_study(db::open_reader(database), "s")->cost_model_json;
  const auto before = trials();
  o.resume = true;
  run_study(o);
  EXPECT_EQ(db::find_study(db::open_reader(database), "s")->cost_model_json, costs);
  const auto after = trials();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].predicted_s, before[i].predicted_s);
  }
}

TEST_F(StudyTest, FailuresAreToldApartAndNeverTriedAgain) {
  auto o = options();
  o.most_chunks = 4;
  o.planners = parse_planners("tutel");
  o.trial_time_limit_s = 10;
  const std::string log = (directory / "log").string();
  o.job.program =
      misbehaving({{2, "echo 2 >> " + log + "; exec sleep 100"},
                   {3, "echo 3 >> " + log + "; kill -SEGV $$"},
                   {4, "echo 4 >> " + log + "; echo moe-train: in words of its own >&2; exit 3"}});
  run_study(o);
  o.resume = true;
  run_study(o);
  std::map<std::string, std::string> status;
  for (const db::Trial& trial : trials()) status[trial.parameters_json] = trial.status;
  EXPECT_EQ(status["{}"], "done");
  EXPECT_EQ(status[R"({"forward_chunks": 1, "backward_chunks": 1})"], "done");
  EXPECT_EQ(status[R"({"forward_chunks": 2, "backward_chunks": 2})"], "hung");
  EXPECT_EQ(status[R"({"forward_chunks": 3, "backward_chunks": 3})"], "crashed");
  EXPECT_EQ(status[R"({"forward_chunks": 4, "backward_chunks": 4})"], "out_of_memory");
  std::ifstream file(log);
  std::string lines((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(lines.size(), 6u) << lines;  // each once alone, after they had failed in turns
}

TEST_F(StudyTest, WhoseTrialsAllHungHasFailed) {
  auto o = options();
  o.trial_time_limit_s = 1;
  o.repeats = 1;
  o.job.program = misbehaving("exec sleep 100");
  run_study(o);
  for (const db::Trial& trial : trials()) EXPECT_EQ(trial.status, "hung");
  const auto connection = db::open_reader(database);
  const db::Run run = db::load_runs(connection, {.kind = "study"}).front();
  EXPECT_EQ(run.status, "failed");
  EXPECT_THAT(run.error, HasSubstr("no trial was measured"));
}

TEST_F(StudyTest, AWrongRoutingIsRefusedBeforeAnythingIsStored) {
  auto o = options();
  o.routing = "zipf:x";
  EXPECT_THROW(run_study(o), moe::InputError);
  EXPECT_FALSE(std::filesystem::exists(database));
}

TEST_F(StudyTest, AProfileThatFailsEndsTheStudyAsItEnded) {
  const std::map<std::string, int> codes{
      {"exit 2", 2}, {"exit 3", 3}, {"exit 124", 124}, {"exit 1", 1}};
  for (const auto& [action, code] : codes) {
    auto o = options("study of " + action);
    const std::string path = (directory / "moe-train").string();
    std::ofstream(path) << "#!/bin/sh\necho moe-train: no such thing >&2; " << action << "\n";
    chmod(path.c_str(), 0755);
    o.job.program = path;
    try {
      run_study(o);
      ADD_FAILURE();
    } catch (const std::exception& error) {
      EXPECT_EQ(moe::exit_code(error), code) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("no such thing"));
    }
  }
}

/// What the sequential schedule of a model needs on one rank.
std::int64_t sequential_peak_bytes(const moe::Model& model) {
  const auto groups = moe::make_groups(1, 1);
  const auto program = moe::build_iteration(model, groups, 0);
  return planned_peak_bytes(program, groups, make_routing("uniform", program, groups, 0));
}

TEST_F(StudyTest, ProfilesAndMeasuresWhatFitsWhereSequentialDoesNot) {
  auto o = options();
  const auto groups = moe::make_groups(1, 1);
  const auto program = moe::build_iteration(o.model, groups, 0);
  const auto routing = make_routing("uniform", program, groups, 0);
  const std::int64_t sequential = sequential_peak_bytes(o.model);
  std::vector<std::int64_t> lean;
  for (const mpmoe::Strategy& strategy : mpmoe::kStrategies) {
    const auto schedule = mpmoe::reuse_schedule(program, "", 2, strategy);
    lean.push_back(planned_peak_bytes(moe::apply(program, *schedule), groups, routing));
  }
  const std::int64_t least = *std::ranges::min_element(lean);
  ASSERT_LT(least, sequential);
  o.job.memory_limit_bytes = sequential - 1;
  o.planners = parse_planners("tutel:1,mpmoe_pb");
  o.micro_profile_steps = 0;
  o.repeats = 1;
  std::string said;
  o.say = [&](const std::string& text) { said += text + "\n"; };
  run_study(o);
  EXPECT_THAT(said, HasSubstr("\"sequential\" does not fit the memory limit: \"sequential, "
                              "buffers shared by S4\" is trained instead"));
  const auto figures = db::load_trial_figures(db::open_reader(database));
  int done = 0;
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status,
              *trial.predicted_peak_bytes <= o.job.memory_limit_bytes ? "done" : "infeasible");
    if (trial.planner == "sequential") {
      EXPECT_EQ(trial.status, "infeasible");
    }
    if (trial.status != "done") continue;
    ++done;
    EXPECT_NE(trial.planner, "sequential");
    EXPECT_NE(figures.at(trial.id).speedup_against, "sequential");
    EXPECT_LE(figures.at(trial.id).speedup.value(), 1);
  }
  EXPECT_GT(done, 0);
  o.name = "too little";
  o.job.memory_limit_bytes = 1000;
  EXPECT_THROW(run_study(o), moe::OutOfMemory);
}

TEST_F(StudyTest, WhatWouldNotFitIsInfeasibleAndNeverRuns) {
  auto o = options();
  o.planners = parse_planners("sequential");  // a leaner schedule is profiled
  o.job.memory_limit_bytes = sequential_peak_bytes(o.model) - 1;
  std::string said;
  o.say = [&](const std::string& text) { said += text + "\n"; };
  run_study(o);
  EXPECT_THAT(said, HasSubstr("no candidate fits the memory limit of "));
  ASSERT_EQ(trials().size(), 1u);
  for (const db::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, "infeasible");
    EXPECT_FALSE(trial.measured_s);
    EXPECT_THAT(trial.error, HasSubstr("the limit is "));
  }
}

}  // namespace
}  // namespace tuner::study_test
