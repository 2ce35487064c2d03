#pragma once

#include <cstddef>
#include <cstdint>

#include "moe/backend/backend.h"

namespace moe {

/// Finds how far an arena is really written to: a pattern is laid where nothing has been placed yet,
/// and what of it is left afterwards was not touched.
class TouchedMemory {
 public:
  /// Laid behind the last byte planned, so that writing beyond the plan shows.
  static constexpr std::int64_t kGuardBytes = 1 << 16;

  /// Activations of the arena begin at byte `begin`; nothing beyond is in use yet. An arena of the host's needs no
  /// backend (nullptr) to be looked at.
  TouchedMemory(Backend* backend, std::byte* arena, std::int64_t begin);

  /// Lays the pattern up to byte `end` and the guard behind it, where it does not lie yet. Nothing
  /// that is placed beyond the last `end` may have run.
  void cover(std::int64_t end);

  /// One past the highest byte that was written to; `begin` where none was. While nothing runs.
  std::int64_t end_of_touched() const;

 private:
  Backend* backend_;
  std::byte* arena_;
  std::int64_t begin_;
  std::int64_t laid_;  ///< the pattern lies on [begin_, laid_)
};

}  // namespace moe
