#pragma once

#include <cstdint>
#include <span>

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

/// Of the scheduled Program's rank, and of the routing, that need most: all() is what
/// planned_peaks() says of the device. Throws as planned_peaks.
PeakParts peak_parts(const moe::Program& scheduled, const moe::Groups& groups,
                     std::span<const moe::Routing> routings);

}  // namespace tuner
