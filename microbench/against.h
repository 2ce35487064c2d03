#pragma once

#include <string>
#include <vector>

#include "db/connection.h"
#include "microbench/arguments.h"
#include "microbench/benchmarks.h"
#include "microbench/compare/compare_runs.h"

/// What --against needs, looked at before anything is measured for it.
namespace microbench {

/// A benchmark that was asked for, and its plans.
struct ToMeasure {
  const Benchmark* benchmark = nullptr;
  std::vector<Plan> plans;
};

/// Throws moe::InputError where the run is none of moe-bench, or of other benchmarks than `what`;
/// db::Error (not_found).
void expect_benchmark_run(const db::Connection& connection, std::int64_t against,
                          const std::string& what);

/// The same, and where it was measured elsewhere, or has no case that will be measured. Makes
/// cases, and no calls.
void expect_comparable(const db::Connection& connection, const Arguments& arguments,
                       const MeasuredPlace& place, const Bench& bench,
                       const std::vector<ToMeasure>& measured);

}  // namespace microbench
