#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/console/in_process.h"
#include "db/console/launcher.h"
#include "db/console/options.h"
#include "microbench/benchmarks.h"
#include "microbench/compare/compare_runs.h"

namespace microbench {

/// The command line of moe-bench, without the options of single benchmarks.
struct Arguments {
  std::string what;
  std::optional<int> ranks;
  db::options::Launcher launcher;
  db::options::InProcess in_process;
  std::string sizes;  ///< empty: each benchmark's own
  std::string dtype = "f32";
  std::string device = "cpu";
  int threads = 0;
  double budget_s = 2;
  int iterations = 0;  ///< 0: as many as the budget and the noise ask for
  int warm_up = 1;
  double time_limit_s = 60;
  std::string database;
  std::vector<std::int64_t> runs;  ///< of `compare`
  std::optional<std::int64_t> against;
  double least = 0.05;
  bool across = false;
  db::options::Output output;
  std::vector<std::string> google_options;  ///< "--benchmark_format=json"
};

/// The word in place of a benchmark that compares two stored runs.
inline constexpr char kCompare[] = "compare";

/// Declares the options of one benchmark, which are stored in the benchmark.
void declare_options(CLI::App& app, const Benchmark& benchmark);

/// Declares moe-bench's options, which are stored in `arguments` and in the benchmarks.
void declare(CLI::App& app, Arguments& arguments, const std::vector<Benchmark>& offered);

}  // namespace microbench
