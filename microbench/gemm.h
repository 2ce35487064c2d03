#pragma once

#include <cstdint>
#include <vector>

#include "microbench/benchmarks.h"

namespace microbench {

/// Sizes of the linear layers that are measured: x[rows, inputs] and weight[inputs, outputs].
struct GemmSweep {
  std::vector<std::int64_t> rows;
  std::int64_t inputs = 512;
  std::int64_t outputs = 2048;
  int experts = 4;  ///< of the expert layers; each has an even share of the rows
};

/// `linear`, `linear_input_gradient`, `linear_weight_gradient` and the same three of
/// `expert_linear`, each as the ops that training executes on this backend, all ranks at the same
/// time. Throws moe::Refusal for int32.
std::vector<Plan> gemm_plans(const Bench& bench, const GemmSweep& sweep);

/// x[rows, inputs] times weight[inputs, outputs].
struct LinearSizes {
  std::int64_t rows = 512;
  std::int64_t inputs = 512;
  std::int64_t outputs = 2048;
};
/// The case `linear` of gemm_plans, forward.
Case linear_case(const Bench& bench, const LinearSizes& sizes);
/// The end of its buffers in the arena.
std::int64_t arena_end(const Bench& bench, const LinearSizes& sizes);

/// "gemm", with the sweep as its options.
Benchmark gemm_benchmark();

}  // namespace microbench
