#pragma once

#include <functional>
#include <vector>

#include "moe/communicator/communicator.h"

namespace microbench {

/// When to stop measuring one case.
struct Sampling {
  double shortest_sample_s = 0.005;  ///< calls are repeated until a sample lasts about this long
  int warm_up = 1;                   ///< calls before the first sample
  /// How many calls are timed, in at most kRepetitions samples; 0: until the median is known.
  int iterations = 0;
  int fewest_samples = 10;       ///< unless the budget ends earlier, and then at least 3
  double relative_error = 0.01;  ///< of the median: below it, enough samples are taken
  double budget_s = 2;           ///< for the samples of one case
  double time_limit_s = 60;      ///< for one wait for other ranks
};

/// Samples of one rank, and at most of a given number of calls.
inline constexpr int kRepetitions = 20;

/// The samples into which a given number of calls is divided, and the calls of each.
struct FixedSamples {
  int samples = 0;
  int calls = 0;
};
/// At least `iterations` calls, of which there is at least one.
FixedSamples fixed_samples(int iterations);

/// Samples that are taken even if the budget is spent.
inline constexpr int kSamplesWithoutBudget = 3;

/// Throws moe::Stopped if this process was asked to end.
void throw_if_stopped();

struct Samples {
  std::vector<double> seconds;  ///< per call, of the slowest rank, in the order of measurement
  std::vector<std::vector<double>> by_rank;  ///< the same of each rank
  int calls_per_sample = 1;
};

/// Times `calls` calls and returns the seconds they took on this rank.
using TimedCalls = std::function<double(int calls)>;

/// Measures until the median is known to `relative_error` or the budget is spent. Every rank of
/// `world` takes part, decides alike and gets the same samples. Ranks start a sample together (a
/// barrier before it, outside the time).
Samples sample(moe::Communicator& world, const TimedCalls& timed, const Sampling& sampling);

/// Standard deviation (n - 1) over the mean. Where it is large, a median may stand for two kinds of
/// samples. 0 for fewer than 2 values.
double coefficient_of_variation(const std::vector<double>& values);

}  // namespace microbench
