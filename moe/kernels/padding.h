#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

struct PadOffsetsBody {
  const std::int32_t* offsets;
  std::int32_t* padded;
  std::int64_t experts, rows_per_pair;
  MOE_BODY void operator()(std::int64_t e) const {
    padded[e] = static_cast<std::int32_t>(e * rows_per_pair);
    padded[experts + 1 + e] = e < experts ? offsets[e + 1] - offsets[e] : 0;
  }
};

/// rows[first + i] = 0 unless it holds a copy. A team per row.
template <class Stored>
struct ClearPaddingBody {
  const std::int32_t* padded;
  Stored* rows;
  std::int64_t first, width, experts;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t i) const {
    const std::int64_t rows_per_pair = padded[1], row = first + i;
    if (row % rows_per_pair < padded[experts + 1 + row / rows_per_pair]) return;
    Stored* out = rows + row * width;
    team.map(width, out, [] { return Stored(0); });
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const PadOffsets& op, const BoundOp& bound) {
  const std::int64_t columns = bound.reads[0].columns;
  exec.elements(columns, PadOffsetsBody{data_of<std::int32_t>(bound.reads[0]),
                                        data_of<std::int32_t>(bound.writes[0]), columns - 1,
                                        op.rows_per_pair});
}

template <class Stored, class Exec>
void launch(Exec& exec, const ClearPadding&, const BoundOp& bound) {
  const View &padded = bound.reads[0], &rows = bound.writes[0];
  for (const RowRange& range : bound.ranges) {
    exec.rows(range.rows, rows.columns,
              ClearPaddingBody<Stored>{data_of<std::int32_t>(padded), data_of<Stored>(rows),
                                       range.begin, rows.columns, padded.columns - 1});
  }
}

}  // namespace moe
