#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/console/in_process.h"
#include "db/console/launcher.h"
#include "db/console/options.h"

namespace moe {

/// Of a training.
inline constexpr int kMostIterations = 1'000'000'000;

/// The values of the command line of moe-train.
struct TrainArguments {
  std::string model;
  std::vector<std::string> settings;  ///< keys of the model with other values
  std::vector<std::string> data;      ///< FILE or FILE:WEIGHT each (data_inputs.h)
  std::string data_order;  ///< "random", "shuffled", "in_order"; empty: by whether there is `data`
  int token_bits = 0;      ///< of raw .bin files; 0: as the vocabulary needs
  bool overfit_batch = false;
  int steps = 100;
  std::optional<int> ranks;
  db::options::Launcher launcher;
  db::options::InProcess in_process;
  std::string layout;
  std::string device = "cpu";
  std::vector<std::string> schedules;  ///< files, or "-" for stdin; several take turns
  std::string planner;
  std::string cluster;
  int plan_every = 0;
  bool plan_beside = false;
  int micro_profile_steps = 0;
  std::string database;
  int threads = 0;
  std::optional<std::int64_t> seed;
  std::int64_t memory_limit_bytes = 0;
  double time_limit_s = 60;
  double copy_gbps = 0;
  bool check_each_op = false;
  int evaluate_every = 0;
  int evaluate_batches = 4;
  bool evaluate_only = false;
  int sample = 0;
  std::optional<std::string> prompt;
  double temperature = 1;
  int log_every = 10;
  int timelines = 1;
  std::optional<int> loads_every;
  std::filesystem::path checkpoint;
  int checkpoint_every = 0;
  int keep = 2;
  bool resume = false;
  std::string log;
  std::optional<int> balanced_steps;  ///< none: as the schedule asks (kBalancedSteps)
  std::string print_program;
  db::options::Output output;
};

/// Declares moe-train's options, which are stored in `arguments`.
void declare(CLI::App& app, TrainArguments& arguments);

}  // namespace moe
