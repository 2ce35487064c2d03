#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "microbench/bench.h"

namespace microbench {

/// What the command line tells all benchmarks.
struct CommonOptions {
  std::vector<std::int64_t> sizes;  ///< bytes
  std::string sizes_text;           ///< as given
  moe::DType dtype = moe::DType::f32;
};

/// Bytes of memory of this machine.
std::int64_t memory_bytes();

/// Throws moe::InputError unless the largest size fits twice, to send and to receive.
void require_sizes_fit_twice(const CommonOptions& common);

/// What an option sets; what is there is its default.
struct NumberWithin {
  int* value;
  int least, most;
};
using OptionValue = std::variant<std::string*, NumberWithin, std::vector<std::string>*>;

/// An option of a benchmark's own.
struct BenchmarkOption {
  std::string name;  ///< "--rows"
  std::string help;
  OptionValue value;  ///< there as long as the benchmark is
};

/// What moe-bench can measure.
struct Benchmark {
  std::string name;  ///< on the command line
  std::vector<BenchmarkOption> options;
  std::function<void(const CommonOptions&)> check;  ///< before ranks are started: InputError
  std::function<std::vector<Plan>(const Bench&, const CommonOptions&)> plans;
};

/// All there are, in the order in which `moe-bench all` runs them. A new one is a line here.
std::vector<Benchmark> benchmarks();

}  // namespace microbench
