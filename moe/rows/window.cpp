#include "moe/rows/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace moe {

std::vector<RowRange> window_rows(std::vector<RowRange> slice_rows) {
  std::int64_t row = 0;
  for (RowRange& range : slice_rows) {
    range.begin = row;
    row += range.rows;
  }
  return slice_rows;
}

std::vector<Segment> window_segments(std::vector<Segment> segments,
                                     const std::vector<RowRange>& slice_rows) {
  const std::vector<RowRange> held = window_rows(slice_rows);
  for (Segment& segment : segments) {
    // Ranges ascend: the last one that does not begin after the segment is that of its expert.
    const auto next =
        std::upper_bound(slice_rows.begin(), slice_rows.end(), segment.begin,
                         [](std::int64_t row, const RowRange& range) { return row < range.begin; });
    const auto expert = static_cast<std::size_t>(next - slice_rows.begin()) - 1;
    if (next == slice_rows.begin() ||
        segment.begin + segment.rows > slice_rows[expert].begin + slice_rows[expert].rows) {
      throw std::logic_error(fmt::format("window: rows {} to {} are not in the slice",
                                         segment.begin, segment.begin + segment.rows));
    }
    segment.begin += held[expert].begin - slice_rows[expert].begin;
  }
  return segments;
}

}  // namespace moe
