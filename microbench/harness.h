#pragma once

#include <functional>
#include <string>
#include <vector>

#include "microbench/bench.h"

namespace microbench {

/// Whether this is an option of Google Benchmark: "--benchmark_out=FILE".
bool is_google_option(const std::string& argument);

/// Whether these options let Google Benchmark print the results itself: --benchmark_format.
bool google_prints(const std::vector<std::string>& google_options);

/// Hands Google Benchmark its options. Throws moe::InputError for one that it does not know.
void set_google_options(const Bench& bench, const std::vector<std::string>& google_options);

/// Measures the plans in order and calls `report` on every rank after each.
///
/// One rank is measured by Google Benchmark. A plan is a benchmark of manual time, its samples are
/// kRepetitions repetitions of at least `shortest_sample_s`, and the figures are the statistics of
/// Google Benchmark. `google_options` can change all of that, and write JSON for compare.py.
/// Without them, repetitions are skipped after the budget is spent.
///
/// Several ranks have to agree on the number of calls, which Google Benchmark cannot do: they are
/// measured by sampling.h. Throws moe::InputError if they are given `google_options`.
void run_plans(const Bench& bench, const std::vector<Plan>& plans,
               const std::function<void(const Result&)>& report,
               const std::vector<std::string>& google_options = {});

}  // namespace microbench
