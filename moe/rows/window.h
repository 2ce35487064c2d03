#pragma once

#include <vector>

#include "moe/rows/row_layout.h"

/// Where the rows of a slice lie in a tensor that holds no more than that slice (Tensor::windows).
namespace moe {

/// As many rows for each local expert as `slice_rows` (expert_rows) has, one behind the other from 0 on.
std::vector<RowRange> window_rows(std::vector<RowRange> slice_rows);

/// `segments` of a slice's received rows, moved from where they lie among all received rows to where they lie in
/// its window. `slice_rows`: expert_rows of the slice. Throws std::logic_error for one that reaches beyond the slice.
std::vector<Segment> window_segments(std::vector<Segment> segments,
                                     const std::vector<RowRange>& slice_rows);

}  // namespace moe
