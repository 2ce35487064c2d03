#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/console/launcher.h"
#include "db/console/options.h"
#include "microbench/benchmarks.h"

namespace microbench {

/// The command line of moe-bench, without the options of single benchmarks.
struct Arguments {
  std::string what;
  std::optional<int> ranks;
  db::options::Launcher launcher;
  std::string sizes;  ///< empty: each benchmark's own
  std::string dtype = "f32";
  std::string device = "cpu";
  int threads = 0;
  double budget_s = 2;
  double time_limit_s = 60;
  std::string database;
  db::options::Output output;
  std::vector<std::string> google_options;  ///< "--benchmark_format=json"
};

/// Declares the options of one benchmark, which are stored in the benchmark.
void declare_options(CLI::App& app, const Benchmark& benchmark);

/// Declares moe-bench's options, which are stored in `arguments` and in the benchmarks.
void declare(CLI::App& app, Arguments& arguments, const std::vector<Benchmark>& offered);

}  // namespace microbench
