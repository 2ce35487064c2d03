#pragma once

#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// Where the copies of tokens lie among the sent rows: copy i = token * k + choice is in row
/// offsets[expert] + slot.
struct SentRows {
  const std::int32_t* expert;
  const std::int32_t* slot;
  const std::int32_t* offsets;
  Slice slice{};

  /// The row of copy i; -1 where it was dropped or is not in the slice.
  MOE_BODY std::int64_t row_of(std::int64_t i) const {
    const std::int64_t place = slot[i];
    if (place < 0) return -1;
    const std::int64_t begin = offsets[expert[i]];
    const std::int64_t rows = offsets[expert[i] + 1] - begin;
    if (place < slice_begin(rows, slice) || place >= slice_end(rows, slice)) return -1;
    return begin + place;
  }
};

/// The sent rows of an op that reads the experts at position `expert`, the slots at `slot` and the
/// offsets at `slot` + 1.
inline SentRows sent_rows_of(const BoundOp& bound, int expert, int slot, Slice slice = {}) {
  return {data_of<std::int32_t>(bound.reads[expert]), data_of<std::int32_t>(bound.reads[slot]),
          data_of<std::int32_t>(bound.reads[slot + 1]), slice};
}

}  // namespace moe
