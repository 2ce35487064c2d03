#pragma once

#include <vector>

#include "moe/rows/row_layout.h"

/// The places of a slice's rows in a tensor that holds only that slice (Tensor::windows).
namespace moe {

/// [local expert]: the rows of the slice in its window, one range after the other from row 0 on.
/// `slice_rows`: expert_rows of the slice.
std::vector<RowRange> window_rows(std::vector<RowRange> slice_rows);

/// Moves segments of a slice from their place among all received rows to their place in the slice's
/// window. `slice_rows`: expert_rows of the slice. Throws std::logic_error for a segment that
/// reaches beyond the slice.
std::vector<Segment> window_segments(std::vector<Segment> segments,
                                     const std::vector<RowRange>& slice_rows);

}  // namespace moe
