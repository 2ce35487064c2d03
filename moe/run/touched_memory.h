#pragma once

#include <cstddef>
#include <cstdint>

#include "moe/backend/backend.h"

namespace moe {

/// Finds how far memory is really written to: where it holds nothing yet it is filled with a
/// pattern (kernels/pattern.h), and bytes that still hold the pattern afterwards were not touched.
/// The pattern never leaves the device.
class TouchedMemory {
 public:
  /// Bytes of the pattern after the last byte planned, so that writing beyond the plan shows.
  static constexpr std::int64_t kGuardBytes = 1 << 16;

  /// Activations begin at byte `begin` of the arena, or block of the host's memory, a multiple of
  /// kPatternWord. Nothing beyond is in use yet.
  TouchedMemory(Backend& backend, std::byte* arena, std::int64_t begin);

  /// Extends the pattern to byte `end` and the guard after it. No op on memory beyond the previous
  /// `end` may have run.
  void cover(std::int64_t end);

  /// One past the highest byte that was written to; `begin` where none was. Called while nothing
  /// runs.
  std::int64_t end_of_touched() const;

 private:
  Backend* backend_;
  std::byte* arena_;
  std::int64_t begin_;
  std::int64_t laid_;  ///< the pattern lies on [begin_, laid_)
};

}  // namespace moe
