#include <SQLiteCpp/Database.h>
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "db/load.h"
#include "db/transaction.h"
#include "tests/db/sample.h"

namespace {

std::int64_t store_study(db::Connection& connection, int ranks) {
  db::Study study;
  study.name = fmt::format("large {}", db::load_studies(connection).size());
  study.ranks = ranks;
  study.model_json = R"({"name":"large"})";
  study.id = insert(connection, study);
  nlohmann::json fits;
  for (int i = 0; i < 40; ++i) {
    fits[fmt::format("op{}", i)] = {{"alpha_s", 1e-5}, {"beta_s_per_unit", 1e-9}, {"unit", "byte"}};
  }
  study.cost_model_json = nlohmann::json{{"fits", fits}}.dump();
  update_study(connection, study);
  return study.id;
}

void store_training(db::Connection& connection, std::int64_t run, int ranks, bool with_loads) {
  std::vector<db::RunRank> rows(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    db::RunRank& row = rows[static_cast<std::size_t>(rank)];
    row.run_id = run, row.rank = rank, row.node = rank / 8;
    row.hostname = fmt::format("n{}", row.node);
  }
  insert(connection, rows);
  std::vector<db::Iteration> iterations(20);
  std::vector<db::Load> loads;
  for (int i = 0; i < 20; ++i) {
    db::Iteration& row = iterations[static_cast<std::size_t>(i)];
    row.run_id = run, row.iteration = i, row.duration_s = 0.1 + 0.001 * i, row.tokens = 65536;
    for (int rank = 0; with_loads && rank < ranks; ++rank) {
      for (int expert = 0; expert < 64; ++expert) {
        loads.push_back({run, i, 1 + i % 2, rank, expert, 1000 + expert, 1000 + expert});
      }
    }
  }
  insert(connection, iterations);
  insert(connection, loads);
}

std::int64_t store_trial(db::Connection& connection, std::int64_t study, std::int64_t run,
                         int number) {
  constexpr const char* kPlanners[] = {"sequential", "tutel", "fsmoe", "joint"};
  db::Schedule schedule;
  schedule.planner = kPlanners[number % 4];
  schedule.json = fmt::format(R"({{"decisions":{}}})", number);
  db::Trial trial;
  trial.study_id = study;
  trial.schedule_id = find_or_insert(connection, schedule);
  trial.planner = schedule.planner;
  trial.predicted_s = 0.1;
  trial.id = find_or_insert(connection, trial);
  claim_trial(connection, trial.id);
  trial.status = "done";
  trial.measured_s = 0.1 + 0.001 * (number % 17);
  trial.measured_peak_bytes = std::int64_t{1} << 30;
  finish_trial(connection, trial);
  db::TrialRepeat repeat;
  repeat.trial_id = trial.id, repeat.run_id = run, repeat.measured_s = *trial.measured_s;
  insert(connection, repeat);
  return trial.id;
}

void store_sweep(db::Connection& connection, std::int64_t run, int ranks) {
  std::vector<db::Measurement> rows(500);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].run_id = run, rows[i].op = i % 2 == 0 ? "all_to_all" : "all_reduce";
    rows[i].device = "cpu", rows[i].dtype = "f32", rows[i].ranks = ranks;
    rows[i].bytes = 1024 * static_cast<std::int64_t>(i + 1), rows[i].time_s = 1e-5 * (i + 1.0);
  }
  insert(connection, rows);
}

/// Timelines as large trainings make them: two MoE layers in four chunks, forward and backward.
void store_large(db::Connection& connection, int timelines, int ranks, int spans_of_rank) {
  struct Step {
    const char* kind;
    const char* activity;
    const char* stream;
  };
  constexpr Step kSteps[] = {{"attention", "computation", "compute"},
                             {"gate", "computation", "compute"},
                             {"all_to_all", "communication", "inter_node"},
                             {"expert_linear", "computation", "compute"},
                             {"all_to_all", "communication", "inter_node"}};
  std::vector<db::TimelineOp> ops(static_cast<std::size_t>(spans_of_rank));
  for (int i = 0; i < spans_of_rank; ++i) {
    db::TimelineOp& op = ops[static_cast<std::size_t>(i)];
    const Step& step = kSteps[i % 5];
    op.op = i, op.kind = step.kind, op.activity = step.activity, op.stream = step.stream;
    op.name = fmt::format("block{}.{}", i / 20 % 2, step.kind);
    op.phase = 2 * i < spans_of_rank ? "forward" : "backward";
    op.layer = 1 + i / 20 % 2;
    op.chunk = i / 5 % 4, op.chunks = 4;
  }
  db::Transaction all(connection, "store a large sample");
  db::Run run = db::sample_run(find_or_insert(connection, db::sample_machine()));
  run.ranks = ranks;
  run.model_json = R"({"name":"large"})";
  run.network = "eth0 100 Gbit/s";
  const std::int64_t study = store_study(connection, ranks);
  for (int t = 0; t < timelines; ++t) {
    run.started_at = db::now();
    const std::int64_t run_id = insert(connection, run);
    store_training(connection, run_id, ranks, t == 0);
    if (t < 2) store_sweep(connection, run_id, ranks);
    const std::int64_t trial = store_trial(connection, study, run_id, t);
    std::vector<db::Span> spans;
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < spans_of_rank; ++i) {
        db::Span& span = spans.emplace_back(db::make_span(rank, i, 0.001 * i, 0.0013, 1 << 20));
        span.flops = i % 5 == 3 ? 1e9 : 0;
        if (i % 5 == 2 || i % 5 == 4) span.waiting_s = 1e-5 * (rank % 7);
      }
    }
    db::TimelineInfo timeline;
    timeline.run_id = run_id;
    timeline.trial_id = trial;
    timeline.kind = "measured";
    insert(connection, timeline, ops, spans);
  }
  run.kind = "study";
  insert(connection, run);
  all.commit();
}

}  // namespace

/// db_sample FILE: a new database with one of everything. db_sample FILE "SQL": runs the SQL in it,
/// and makes it before that if there is no such file. db_sample FILE large TIMELINES RANKS SPANS: a
/// large one, or a part of one, with so many spans on each rank of each timeline: a study with a trial
/// for each, and sweeps.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const bool made = !std::filesystem::exists(argv[1]);
    auto connection = db::open_writer(argv[1]);
    if (argc == 6) {
      store_large(connection, std::stoi(argv[3]), std::stoi(argv[4]), std::stoi(argv[5]));
      return 0;
    }
    if (made || argc == 2) db::store_sample(connection);
    if (argc > 2) connection.database().exec(argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "db_sample: {}\n", error.what());
    return 1;
  }
}
