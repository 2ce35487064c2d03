#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "microbench/bench.h"

namespace microbench {

/// Options that all benchmarks share.
struct CommonOptions {
  std::vector<std::int64_t> sizes;  ///< bytes
  std::string sizes_text;           ///< as given, or the benchmark's own
  moe::DType dtype = moe::DType::f32;
  int ranks = 1;
  std::string file_text = {};  ///< of the benchmark's file
};

/// Bytes of memory of this machine.
std::int64_t memory_bytes();

/// Throws moe::InputError unless the largest size fits twice, to send and to receive.
void require_sizes_fit_twice(const CommonOptions& common);

/// The variable that an option sets. Its value is the default.
struct NumberWithin {
  int* value;
  int least, most;
};
using OptionValue = std::variant<std::string*, NumberWithin, std::vector<std::string>*>;

/// An option of one benchmark (arguments.h).
struct BenchmarkOption {
  std::string name;  ///< "--rows"
  std::string help;
  OptionValue value;  ///< lives as long as the benchmark
};

/// The file that an option names.
struct BenchmarkFile {
  std::string option;                      ///< "--routing"
  std::function<std::string()> path = {};  ///< "" where the option names none
};

/// Where a benchmark that is no list of cases hands what it finds, on every rank.
struct Reports {
  std::function<void(const Result&)> result;
  std::function<void(const std::string&)> line;     ///< of a table; nothing in CSV and JSON
  std::function<void(const std::string&)> finding;  ///< a sentence
};

/// A benchmark that moe-bench offers.
struct Benchmark {
  std::string name;  ///< on the command line
  std::vector<BenchmarkOption> options;
  std::function<void(const CommonOptions&)> check;  ///< throws InputError before ranks are started
  std::function<std::vector<Plan>(const Bench&, const CommonOptions&)> plans;
  std::string sizes = {};  ///< that it sweeps where none are given; empty: it has no use for them
  /// Throws InputError where these ranks cannot be measured; before anything is printed or stored.
  std::function<void(const std::vector<moe::RankInfo>&)> check_ranks = {};
  /// In place of plans: measures all ranks at once.
  std::function<void(const Bench&, const CommonOptions&, const Reports&)> run = {};
  /// The op of all its rows, where only measuring tells what else makes them cases (compare.h).
  std::string op = {};
  BenchmarkFile file = {};  ///< read where the job is started; its text comes in CommonOptions
};

/// Whether WHAT of the command line, which may be "all", means this one.
bool is_chosen(const Benchmark& benchmark, std::string_view what);

/// All benchmarks, in the order in which `moe-bench all` runs them. A new one is a line here.
std::vector<Benchmark> benchmarks();

}  // namespace microbench
