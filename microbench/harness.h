#pragma once

#include <functional>
#include <vector>

#include "microbench/bench.h"

namespace microbench {

/// Runs plans in order on Google Benchmark: each is one benchmark of manual time, whose one
/// iteration is a whole measurement (sampling.h decides how many calls that takes, alike on every
/// rank) and whose time is the median. `report` is called on every rank after each.
void run_plans(const Bench& bench, const std::vector<Plan>& plans,
               const std::function<void(const Result&)>& report);

}  // namespace microbench
