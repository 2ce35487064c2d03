#include "tests/viewer/synthetic_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "db/records.h"
#include "db/store.h"
#include "db/transaction.h"
#include "tests/viewer/synthetic_timeline.h"

namespace viewer {

namespace {

constexpr double kMonday = 1.75e9;
constexpr const char* kLayout = "dp=1,ep=4,esp=1,tp=1";
constexpr int kLayers = 6, kExperts = 16, kRanks = 4, kIterations = 200;
constexpr std::int64_t kCapacity = 384;  // tokens of a rank and an expert, 1.5 times the mean

struct RunText {
  std::string kind, name, planner, status, error;
  double started_at = 0;
  double duration_s = 0;
  int ranks = kRanks;
  std::string layout = kLayout;
};

std::int64_t add_run(db::Connection& connection, std::int64_t machine, const RunText& text) {
  db::Run run;
  run.machine_id = machine;
  run.kind = text.kind;
  run.name = text.name;
  run.status = text.status;
  run.error = text.error;
  run.started_at = text.started_at;
  run.heartbeat_at = text.started_at + text.duration_s;
  if (text.status != "running") run.finished_at = run.heartbeat_at;
  run.revision = "0123456789ab";
  run.device = "cpu";
  run.ranks = text.ranks;
  if (text.kind != "bench") run.layout = text.layout;
  if (!text.planner.empty()) {
    db::Schedule schedule;
    schedule.planner = text.planner;
    schedule.json = fmt::format(R"({{"schedule": "{}"}})", text.planner);
    run.planner = text.planner;
    run.schedule_id = db::find_or_insert(connection, schedule);
  }
  return db::insert(connection, run);
}

void add_losses(db::Connection& connection, std::int64_t run, int iterations, double step_s,
                unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 1);
  std::vector<db::Iteration> rows;
  for (int i = 0; i < iterations; ++i) {
    db::Iteration row;
    row.run_id = run;
    row.iteration = i;
    const double smooth = 2.35 + 3.2 * std::exp(-i / 45.0);
    row.loss = smooth + 0.04 * noise(random);
    row.auxiliary_loss = 1 + 0.6 * std::exp(-i / 30.0);
    if (i % 20 == 19) row.heldout_loss = smooth + 0.06;
    row.duration_s = step_s * (1 + 0.02 * std::abs(noise(random)));
    row.tokens = 4 * 2048;
    rows.push_back(row);
  }
  db::insert(connection, rows);
}

// As training works it out: of `loads`, one layer's in one iteration, experts in blocks on ranks.
db::Balance balance_of(std::span<const db::Load> loads, std::vector<double>& before) {
  db::Balance row;
  row.run_id = loads[0].run_id;
  row.iteration = loads[0].iteration;
  row.layer = loads[0].layer;
  row.experts = kExperts;
  row.dropped_tokens = 0;
  std::vector<double> experts(kExperts), ranks(kRanks);
  for (const db::Load& load : loads) {
    const auto tokens = static_cast<double>(load.tokens);
    experts[static_cast<std::size_t>(load.expert)] += tokens;
    ranks[static_cast<std::size_t>(load.expert * kRanks / kExperts)] += tokens;
    row.tokens += load.tokens;
    *row.dropped_tokens += *load.asked_tokens - load.tokens;
  }
  const auto deviation = [&](const std::vector<double>& tokens) {
    const double mean = static_cast<double>(row.tokens) / static_cast<double>(tokens.size());
    double squares = 0;
    for (const double n : tokens) squares += (n - mean) * (n - mean);
    return std::sqrt(squares / static_cast<double>(tokens.size()));
  };
  row.max_tokens = std::llround(*std::max_element(experts.begin(), experts.end()));
  row.max_rank_tokens = std::llround(*std::max_element(ranks.begin(), ranks.end()));
  row.mean_rank_tokens = static_cast<double>(row.tokens) / kRanks;
  row.standard_deviation = deviation(experts);
  row.rank_standard_deviation = deviation(ranks);
  if (!before.empty()) {
    const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    row.locality =
        product(experts, before) / std::sqrt(product(experts, experts) * product(before, before));
  }
  before = std::move(experts);
  return row;
}

// Experts begin unevenly liked; the load-balancing loss evens them out, in some layers less than in
// others.
void add_loads(db::Connection& connection, std::int64_t run, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 1);
  std::vector<std::vector<double>> taste(kLayers, std::vector<double>(kExperts));
  for (auto& layer : taste) {
    for (double& expert : layer) expert = noise(random);
  }
  std::vector<db::Load> rows;
  std::vector<db::Balance> balances;
  std::vector<std::vector<double>> before(kLayers);
  for (int i = 0; i < kIterations; ++i) {
    for (int layer = 1; layer < 2 * kLayers; layer += 2) {
      auto& liked = taste[static_cast<std::size_t>(layer / 2)];
      std::vector<double> weight;
      double total = 0;
      for (double& expert : liked) {
        expert = 0.985 * expert + 0.05 * noise(random);
        weight.push_back(std::exp((0.6 + 0.12 * layer) * expert));
        total += weight.back();
      }
      for (int rank = 0; rank < kRanks; ++rank) {
        for (int expert = 0; expert < kExperts; ++expert) {
          const double share = weight[static_cast<std::size_t>(expert)] / total;
          const double tokens = 2 * 2048 * share * (1 + 0.05 * noise(random));
          const std::int64_t kept = std::max<std::int64_t>(0, std::llround(tokens));
          rows.push_back({run, i, layer, rank, expert, kept,
                          kept + std::max<std::int64_t>(0, (kept - kCapacity) / 8)});
        }
      }
      balances.push_back(balance_of(std::span(rows).last(kRanks * kExperts),
                                    before[static_cast<std::size_t>(layer / 2)]));
    }
  }
  db::insert(connection, rows);
  db::insert(connection, balances);
}

void add_timeline(db::Connection& connection, std::optional<std::int64_t> run,
                  std::optional<std::int64_t> trial, const std::string& kind,
                  const std::string& label, StepShape shape) {
  const SyntheticStep step = make_step(shape);
  db::TimelineInfo timeline;
  timeline.run_id = run;
  timeline.trial_id = trial;
  timeline.kind = kind;
  timeline.label = label;
  timeline.iteration = kIterations - 1;
  timeline.duration_s = step.duration_s;
  db::insert(connection, timeline, step.ops, step.spans, step.edges, step.groups);
}

std::int64_t add_training(db::Connection& connection, std::int64_t machine,
                          const std::string& planner, double started, StepShape shape) {
  const double step_s = make_step(shape).duration_s;
  const std::int64_t run =
      add_run(connection, machine,
              {"train", "box-small", planner, "done", "", started, step_s * kIterations + 4});
  add_losses(connection, run, kIterations, step_s, 7);
  add_loads(connection, run, 11);
  StepShape measured = shape;
  measured.jitter = 0.08;
  add_timeline(connection, run, std::nullopt, "measured", planner, measured);
  add_timeline(connection, run, std::nullopt, "predicted", planner, shape);
  return run;
}

struct Candidate {
  std::string planner, parameters, status;
  StepShape shape;
  double loss = 2.4;  // the last
  std::string changes_results = {};
};

std::int64_t add_study(db::Connection& connection, std::int64_t machine, double started) {
  db::Study study;
  study.name = "box-small on 4 ranks";
  study.ranks = kRanks;
  study.layout = kLayout;
  study.created_at = started;
  add_run(connection, machine, {"study", study.name, "", "done", "", started, 74});
  const std::int64_t study_id = db::insert(connection, study);
  StepShape plain;
  StepShape two = plain, four = plain, hierarchical = plain;
  two.forward_chunks = two.backward_chunks = 2;
  four.forward_chunks = 4, four.backward_chunks = 3;
  hierarchical.forward_chunks = hierarchical.backward_chunks = 4, hierarchical.intra_node = true;
  const std::vector<Candidate> candidates = {
      {"sequential", "{}", "done", plain},
      {"tutel", R"({"chunks": 2})", "done", two},
      {"pipemoe", R"({"forward_chunks": 4, "backward_chunks": 3})", "done", four},
      {"fsmoe", R"({"chunks": 4, "intra_node": "own stream"})", "done", hierarchical},
      {"tutel", R"({"given": "bf16", "chunks": 2})", "done", two, 2.4021, "compress_exchange"},
      {"tutel", R"({"chunks": 8})", "out_of_memory", two},
      {"tutel", R"({"chunks": 3})", "planned", two}};
  std::int64_t best = 0;
  double best_s = 1e9;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    db::Schedule schedule;
    schedule.planner = candidate.planner;
    schedule.json =
        fmt::format(R"({{"candidate": {}, "parameters": {}}})", i, candidate.parameters);
    schedule.changes_results = candidate.changes_results;
    StepShape measured = candidate.shape;
    measured.jitter = 0.06;
    measured.seed = static_cast<unsigned>(i) + 3;
    const double predicted_s = make_step(candidate.shape).duration_s;
    const double measured_s = make_step(measured).duration_s;

    db::Trial trial;
    trial.study_id = study_id;
    trial.schedule_id = db::find_or_insert(connection, schedule);
    trial.planner = candidate.planner;
    trial.parameters_json = candidate.parameters;
    trial.id = db::find_or_insert(connection, trial);
    trial.status = candidate.status;
    trial.predicted_s = predicted_s;
    trial.lower_bound_s = make_step(plain).duration_s * 0.62;
    if (candidate.planner != "sequential") trial.paper_s = predicted_s * 0.94;
    trial.predicted_peak_bytes = 412LL << 20;
    if (candidate.status == "done") {
      trial.measured_s = measured_s;
      trial.measured_peak_bytes = 412LL << 20;
    }
    if (candidate.status == "out_of_memory") {
      trial.error = "rank 2: 7.1 GiB over the limit of 4.0 GiB";
    }
    if (candidate.status != "planned") db::finish_trial(connection, trial);
    const std::string label;
    add_timeline(connection, std::nullopt, trial.id, "predicted", label, candidate.shape);
    if (candidate.status != "done") continue;
    const std::int64_t repeat = add_run(connection, machine,
                                        {"train", "box-small", candidate.planner, "done", "",
                                         started + 1 + static_cast<double>(i), 5});
    db::insert(connection, db::TrialRepeat{trial.id, 0, repeat, measured_s, 10});
    db::Iteration last;
    last.run_id = repeat;
    last.iteration = 10;
    last.loss = candidate.loss;
    last.duration_s = measured_s;
    db::insert(connection, std::span<const db::Iteration>(&last, 1));
    add_timeline(connection, repeat, trial.id, "measured", label, measured);
    if (measured_s < best_s) best = trial.id, best_s = measured_s;
  }
  return best;
}

}  // namespace

std::int64_t add_wide_run(db::Connection& connection, int ranks) {
  db::Transaction transaction(connection);
  db::Machine machine;
  machine.fingerprint = machine.hostname = "cluster";
  const std::int64_t machine_id = db::find_or_insert(connection, machine);
  const std::int64_t run = add_run(connection, machine_id,
                                   {"train", "wide", "sequential", "done", "", kMonday + 259200, 30,
                                    ranks, fmt::format("dp=1,ep={},esp=1,tp=1", ranks)});
  std::vector<db::RunRank> places;
  for (int rank = 0; rank < ranks; ++rank) {
    db::RunRank place;
    place.run_id = run;
    place.rank = rank;
    place.clock_offset_s = place.clock_error_s = 0;
    place.node = rank / 8;
    place.hostname = fmt::format("n{}", place.node);
    places.push_back(place);
  }
  db::insert(connection, std::span<const db::RunRank>(places));
  StepShape shape;
  shape.ranks = ranks;
  shape.forward_chunks = shape.backward_chunks = 2;
  shape.jitter = 0.03;
  add_timeline(connection, run, std::nullopt, "measured", "", shape);
  transaction.commit();
  return run;
}

namespace {

SyntheticIds fill(db::Connection& connection) {
  db::Transaction transaction(connection);
  db::Machine machine;
  machine.fingerprint = "synthetic";
  machine.hostname = "box";
  machine.cpu = "a processor";
  machine.cores = 4;
  const std::int64_t machine_id = db::find_or_insert(connection, machine);

  SyntheticIds ids;
  add_run(connection, machine_id, {"bench", "collectives", "", "done", "", kMonday, 41});
  ids.failed_run = add_run(
      connection, machine_id,
      {"train", "box-large", "sequential", "failed",
       "rank 2: activations need 7.1 GiB, the limit is 4.0 GiB (layer 11)", kMonday + 600, 3.2});
  ids.sequential_run = add_training(connection, machine_id, "sequential", kMonday + 3600, {});
  StepShape pipelined;
  pipelined.forward_chunks = 4;
  pipelined.backward_chunks = 3;
  ids.pipelined_run = add_training(connection, machine_id, "pipemoe", kMonday + 7200, pipelined);
  ids.best_trial = add_study(connection, machine_id, kMonday + 86400);
  ids.study_run = ids.pipelined_run + 1;
  for (int i = 0; i < 6; ++i) {
    add_run(connection, machine_id,
            {"train", "tiny", i % 2 == 0 ? "tutel" : "pipemoe", i == 5 ? "killed" : "done", "",
             kMonday + 90000 + 500 * i, 20.0 + i});
  }
  const std::int64_t running = add_run(
      connection, machine_id, {"train", "box-small", "fsmoe", "running", "", kMonday + 172800, 12});
  add_losses(connection, running, 60, 0.06, 9);
  transaction.commit();
  return ids;
}

struct Made {
  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill(connection);
};

}  // namespace

SyntheticIds fill_synthetic_database(db::Connection& connection) {
  static const Made made;  // copies take little of the time
  sqlite3_backup* backup =
      sqlite3_backup_init(connection.handle(), "main", made.connection.handle(), "main");
  if (backup == nullptr || sqlite3_backup_step(backup, -1) != SQLITE_DONE ||
      sqlite3_backup_finish(backup) != SQLITE_OK) {
    throw std::runtime_error(std::string("synthetic database: ") +
                             sqlite3_errmsg(connection.handle()));
  }
  return made.ids;
}

db::PredictedSetup synthetic_setup(const SyntheticIds& ids, int ranks, int place,
                                   const std::string& layout, double time_s, std::int64_t bytes) {
  db::PredictedSetup one;
  one.run_id = ids.study_run;
  one.ranks = ranks;
  one.place = place;
  one.layout = layout;
  one.batch_per = "rank";
  one.micro_batch_order = "sequential";
  one.planner = "joint";
  one.schedule_id = 1;
  one.predicted_s = time_s;
  one.tokens_per_s = 1e4;
  one.parameter_bytes = bytes;
  one.predicted_peak_bytes = bytes;
  return one;
}

std::int64_t add_search(db::Connection& connection) {
  db::Run run;
  run.kind = "search";
  run.name = "box-small";
  run.revision = "0123456789ab";
  run.cluster_json = R"({"name": "box"})";
  run.started_at = kMonday + 345600;
  run.ranks = 8;
  db::Machine machine;
  machine.fingerprint = "searched here";
  db::Schedule schedule;
  schedule.planner = "joint";
  schedule.json = R"({"schedule": "joint"})";
  const std::int64_t id = db::begin_run(connection, run, machine, schedule);
  SyntheticIds ids;
  ids.study_run = id;
  std::vector<db::PredictedSetup> setups = {
      synthetic_setup(ids, 4, 1, "ep=4", 0.010, 400 << 20),
      synthetic_setup(ids, 4, 2, "dp=2,ep=2", 0.011, 500 << 20),
      synthetic_setup(ids, 4, 3, "ep=2,tp=2", 0.012, 300 << 20),
      synthetic_setup(ids, 8, 1, "ep=8", 0.005, 200 << 20)};
  setups.back().tokens_per_s = 2e4;
  for (db::PredictedSetup& setup : setups) {
    setup.schedule_id = db::find_or_insert(connection, schedule);
    setup.lower_bound_s = setup.predicted_s / 2;
    setup.bounded_by = "rank 0 compute";
  }
  db::insert(connection, setups);
  db::finish_run(connection, id, "done");
  return id;
}

}  // namespace viewer
