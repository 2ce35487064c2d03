#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace tuner {

/// The planned peak of a rank's arena, and what it consists of.
struct PeakParts {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;    ///< its states
  std::int64_t activations = 0;  ///< and rows on their way, at the peak
  /// Token ids, results, and what it takes to align all tensors.
  std::int64_t buffers = 0;

  std::int64_t all() const { return parameters + gradients + optimizer + activations + buffers; }
};

/// [stage]: of the rank of the scheduled Program, and of the routing, that need most. Throws as
/// planned_peaks.
std::vector<PeakParts> stage_parts(const moe::Program& scheduled, const moe::Groups& groups,
                                   std::span<const moe::Routing> routings);

/// Of the stage that needs most: all() is what planned_peaks() says of the device.
PeakParts of_fullest(const std::vector<PeakParts>& stages);

/// [stage]: bytes that all micro-batches have at once: inputs, results, and rows that the stage passes
/// on in a stream from which it receives nothing. It never waits for that stream, so a plan cannot
/// know when they are sent.
std::vector<std::int64_t> bytes_of_whole_iteration(const moe::Program& scheduled);

}  // namespace tuner
