#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tuner/planners/situation/planner.h"
#include "tuner/search/setup.h"
#include "tuner/search/setup_memory.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner {

/// Two numbers of micro-batches from which time and memory of a setup with more of them follow: once
/// every stage is at work, each further micro-batch takes as long, and adds as many bytes. [ours]
struct FewerMicroBatches {
  int few = 0, more = 0;
  bool adds_memory = true;  ///< further ones do, beside what bytes_of_whole_iteration() tells
};

/// Programs of all micro-batches have up to this many ops.
inline constexpr std::size_t kMostWholeOps = 100'000;

/// None where the Program of all micro-batches is small enough, or these are no more than would
/// take its place. `ops_of_one`: of the Program of one micro-batch.
std::optional<FewerMicroBatches> fewer_micro_batches(const TrainingSetup& setup,
                                                     const Planner& order, std::size_t ops_of_one,
                                                     std::size_t most_whole_ops = kMostWholeOps);

/// The time of all micro-batches of the setup, from those of fewer.
double seconds_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer, double few_s,
                      double more_s);

/// The bytes of a rank with all of them: each further one adds as many as the last ones did.
std::int64_t bytes_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer,
                          std::int64_t few_bytes, std::int64_t more_bytes);
PeakParts peak_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer,
                      const PeakParts& few, PeakParts more);

/// The lower bound of all of them: the work of streams and links grows with their number, and the
/// chain of the fewer ones is one of all. A chain through all may be longer.
LowerBound bound_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer,
                        const LowerBound& few, LowerBound more);

}  // namespace tuner
