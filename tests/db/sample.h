#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.h"

namespace db {

/// The ids of the rows that store_sample() wrote.
struct Sample {
  std::int64_t machine = 0;
  std::int64_t run = 0;
  std::int64_t study = 0;
  std::vector<std::int64_t> trials;  ///< sequential 0.20 s, tutel 0.10 s, pipemoe out of memory
  std::int64_t measured = 0;         ///< timelines of the run, two ranks x three ops
  std::int64_t predicted = 0;
};

inline Machine sample_machine(const std::string& fingerprint = "sample") {
  Machine machine;
  machine.fingerprint = fingerprint;
  machine.hostname = "node0";
  machine.os = "Debian GNU/Linux 12";
  machine.cpu = "a processor";
  machine.cores = 4;
  machine.memory_bytes = std::int64_t{16} << 30;
  machine.libraries_json = R"({"oneDNN":"2.6.3"})";
  return machine;
}

inline Run sample_run(std::int64_t machine_id) {
  Run run;
  run.machine_id = machine_id;
  run.kind = "train";
  run.name = "tiny";
  run.argv_json = R"(["moe-train","--model","tiny"])";
  run.device = "cpu";
  run.ranks = 2;
  run.layout = "dp=1,ep=2,esp=1,tp=1";
  run.model_json = R"({"layers":2})";
  run.seed = 7;
  return run;
}

inline Trial sample_trial(Connection& connection, std::int64_t study_id,
                          const std::string& planner) {
  Schedule schedule;
  schedule.planner = planner;
  schedule.json = R"({"planner":")" + planner + R"(","decisions":")" + planner + "\"}";
  Trial trial;
  trial.study_id = study_id;
  trial.schedule_id = find_or_insert(connection, schedule);
  trial.planner = planner;
  trial.parameters_json = R"({"forward_chunks":2})";
  return trial;
}

inline std::vector<TimelineOp> sample_ops() {
  std::vector<TimelineOp> ops(3);
  const char* const names[] = {"gate", "all_to_all dispatch", "expert"};
  const char* const kinds[] = {"gate", "all_to_all", "gemm"};
  const char* const streams[] = {"compute", "inter_node", "compute"};
  for (int i = 0; i < 3; ++i) {
    auto& op = ops[static_cast<std::size_t>(i)];
    op.op = i;
    op.name = names[i];
    op.kind = kinds[i];
    op.activity = i == 1 ? "communication" : "computation";
    op.stream = streams[i];
    op.phase = "forward";
    op.layer = 1;
    op.chunks = 2;
  }
  return ops;
}

inline Span make_span(int rank, int op, double start_s, double duration_s, std::int64_t bytes = 0) {
  Span span;
  span.rank = rank;
  span.op = op;
  span.start_s = start_s;
  span.duration_s = duration_s;
  span.bytes = bytes;
  return span;
}

inline std::vector<Span> sample_spans() {
  return {make_span(0, 0, 0, 0.001),
          make_span(0, 1, 0.001, 0.004, 4000000),
          make_span(0, 2, 0.005, 0.002),
          make_span(1, 0, 0, 0.002),
          make_span(1, 1, 0.002, 0.003, 4000000),
          make_span(1, 2, 0.005, 0.003)};
}

/// One of everything.
inline Sample store_sample(Connection& connection) {
  Sample sample;
  sample.machine = find_or_insert(connection, sample_machine());
  sample.run = insert(connection, sample_run(sample.machine));

  std::vector<RunRank> ranks(2);
  std::vector<Iteration> iterations(3);
  std::vector<Load> loads;
  std::vector<Balance> balances;
  for (int rank = 0; rank < 2; ++rank) {
    auto& row = ranks[static_cast<std::size_t>(rank)];
    row.run_id = sample.run;
    row.rank = rank;
    row.hostname = "node0";
    row.core_set = rank;
    row.cores = 2;
    row.threads = 1;
    row.measured_peak_bytes = 1 << 20;
  }
  for (int i = 0; i < 3; ++i) {
    auto& row = iterations[static_cast<std::size_t>(i)];
    row.run_id = sample.run;
    row.iteration = i;
    row.loss = 5.5 - i;
    row.duration_s = 0.1;
    row.tokens = 1024;
    for (int rank = 0; rank < 2; ++rank) {
      for (int expert = 0; expert < 4; ++expert) {
        const std::int64_t dropped = expert == 3 ? 10 : 0;
        const std::int64_t tokens = 100 * (expert + 1);
        loads.push_back({sample.run, i, 1, rank, expert, tokens, tokens + dropped});
      }
    }
    // Experts of 200, 400, 600, 800 tokens, the first two on rank 0.
    balances.push_back({sample.run, i, 1, 4, 0, 2000, 20, 800, 223.606797749979, 1400, 1000, 400,
                        i == 0 ? std::nullopt : std::optional(1.0), std::nullopt, std::nullopt});
  }
  iterations[2].heldout_loss = 3.25;
  insert(connection, ranks);
  insert(connection, iterations);
  insert(connection, loads);
  insert(connection, balances);

  Fit fit;
  fit.run_id = sample.run;
  fit.op = "all_to_all";
  fit.device = "cpu";
  fit.ranks = 2;
  fit.link = "inter_node";
  fit.alpha_s = 2e-5;
  fit.beta_s_per_unit = 4e-9;
  fit.unit = "byte";
  fit.r2 = 0.999;
  fit.samples = 12;
  insert(connection, std::span<const Fit>(&fit, 1));

  const Figure figure{sample.run, "FSMoE", "Table 5",  "test bed A", "Tutel", "speed-up over Tutel",
                      1.25,       1.5,     "simulated"};
  insert(connection, std::span<const Figure>(&figure, 1));

  Measurement measurement;
  measurement.run_id = sample.run;
  measurement.op = "all_to_all";
  measurement.device = "cpu";
  measurement.dtype = "f32";
  measurement.ranks = 2;
  measurement.bytes = 16 << 20;
  measurement.count = 4 << 20;
  measurement.time_s = 0.07;
  measurement.samples = 10;
  measurement.algorithm_bandwidth_bytes_per_s = 2.4e8;
  measurement.bus_bandwidth_bytes_per_s = 1.2e8;
  insert(connection, std::span<const Measurement>(&measurement, 1));

  Study study;
  study.name = "sample study";
  study.ranks = 2;
  study.layout = "dp=1,ep=2,esp=1,tp=1";
  sample.study = insert(connection, study);
  for (const char* planner : {"sequential", "tutel", "pipemoe"}) {
    Trial trial = sample_trial(connection, sample.study, planner);
    trial.predicted_s = trial.planner == "sequential" ? 0.21 : 0.11;
    trial.id = find_or_insert(connection, trial);
    claim_trial(connection, trial.id);
    const bool fits = trial.planner != "pipemoe";
    trial.status = fits ? "done" : "out_of_memory";
    if (fits) {
      trial.measured_s = trial.planner == "sequential" ? 0.2 : 0.1;
      TrialRepeat repeat;
      repeat.trial_id = trial.id;
      repeat.run_id = sample.run;
      repeat.measured_s = *trial.measured_s;
      repeat.steps = 5;
      insert(connection, repeat);
    }
    finish_trial(connection, trial);
    sample.trials.push_back(trial.id);
  }

  TimelineInfo timeline;
  timeline.run_id = sample.run;
  timeline.kind = "measured";
  timeline.iteration = 2;
  sample.measured = insert(connection, timeline, sample_ops(), sample_spans());
  timeline.trial_id = sample.trials[1];
  timeline.kind = "predicted";
  sample.predicted = insert(connection, timeline, sample_ops(), sample_spans());
  finish_run(connection, sample.run, "done");
  return sample;
}

}  // namespace db
