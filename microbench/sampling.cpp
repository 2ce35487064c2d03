#include "microbench/sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "db/console/statistics.h"
#include "moe/stop.h"

namespace microbench {
namespace {

constexpr int kLargestRound = 5;
constexpr int kMostCallsOfASample = 100'000;
constexpr std::size_t kMostSamples = 1000;

/// One number of each rank.
struct Gathered {
  moe::Communicator& world;
  moe::CallContext call;

  /// by rank, then by position in `own`
  std::vector<double> operator()(const std::vector<double>& own) const {
    std::vector<double> all(own.size() * world.size);
    world.all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size()), moe::DType::f64,
                     call);
    return all;
  }
};

}  // namespace

void throw_if_stopped() {
  const int signal = moe::stop_signal();
  if (signal != 0) throw moe::Stopped("stopped: " + moe::stop_reason(signal), signal);
}

FixedSamples fixed_samples(int iterations) {
  if (iterations <= 0) return {};
  const int calls = (iterations - 1) / kRepetitions + 1;
  return {(iterations - 1) / calls + 1, calls};
}

Samples sample(moe::Communicator& world, const TimedCalls& timed, const Sampling& sampling) {
  using Clock = std::chrono::steady_clock;
  const Gathered gather{world, {.time_limit_s = sampling.time_limit_s, .what = "benchmark timing"}};
  const Clock::time_point start = Clock::now();
  const auto elapsed_s = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };

  // Warms caches and connections up; another call says how long one takes.
  for (int i = 0; i < sampling.warm_up; ++i) timed(1);
  world.barrier(gather.call);

  Samples samples;
  samples.by_rank.resize(static_cast<std::size_t>(world.size));
  const FixedSamples fixed = fixed_samples(sampling.iterations);
  int round = kLargestRound;
  if (fixed.samples > 0) {
    samples.calls_per_sample = fixed.calls;
  } else {
    const auto estimates = gather({timed(1)});
    const double estimate_s = *std::max_element(estimates.begin(), estimates.end());
    samples.calls_per_sample = static_cast<int>(
        std::clamp<double>(std::ceil(sampling.shortest_sample_s / std::max(estimate_s, 1e-9)), 1,
                           kMostCallsOfASample));
    const double sample_s = estimate_s * samples.calls_per_sample;
    round = static_cast<int>(
        std::clamp<double>(sampling.budget_s / std::max(sample_s, 1e-9), 1, kLargestRound));
  }
  while (samples.seconds.size() < kMostSamples) {
    if (fixed.samples > 0) {
      round = std::min(kLargestRound, fixed.samples - static_cast<int>(samples.seconds.size()));
      if (round == 0) break;
    }
    std::vector<double> own;
    for (int i = 0; i < round; ++i) {
      world.barrier(gather.call);
      own.push_back(timed(samples.calls_per_sample) / samples.calls_per_sample);
    }
    own.push_back(moe::stop_signal());
    own.push_back(elapsed_s());
    const auto all = gather(own);
    for (int rank = 0; rank < world.size; ++rank) {
      const int signal = static_cast<int>(all[rank * own.size() + round]);
      if (signal != 0) throw moe::Stopped("stopped: " + moe::stop_reason(signal), signal);
    }
    for (int i = 0; i < round; ++i) {
      double slowest = 0;
      for (int rank = 0; rank < world.size; ++rank) {
        const double seconds = all[rank * own.size() + i];
        samples.by_rank[rank].push_back(seconds);
        slowest = std::max(slowest, seconds);
      }
      samples.seconds.push_back(slowest);
    }
    if (fixed.samples > 0) continue;
    const int taken = static_cast<int>(samples.seconds.size());
    const bool budget_spent = all[own.size() - 1] > sampling.budget_s;  // by rank 0's clock
    if (taken >= kSamplesWithoutBudget && budget_spent) break;
    if (taken >= sampling.fewest_samples &&
        db::relative_error_of_median(samples.seconds) <= sampling.relative_error) {
      break;
    }
  }
  return samples;
}

double coefficient_of_variation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1)) / mean;
}

}  // namespace microbench
