#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/program/op.h"
#include "moe/rows/row_layout.h"

namespace moe {

/// A tensor as a kernel sees it, row-major. Where rows are fixed, it has the rows of the op's
/// slice. Where rows are routed, it has all rows, and BoundOp::ranges tells which ones the op works
/// on.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// An op whose sizes and addresses are known, ready to be executed by a backend.
struct BoundOp {
  const Op* op = nullptr;
  std::vector<View> reads;   ///< [position in Op::reads]
  std::vector<View> writes;  ///< [position in Op::writes]
  /// The rows that the op works on: its slice of the first operand, reads before writes, whose rows
  /// are routed. Received and gathered rows have one range per local expert; sent rows have one
  /// range for each run of adjoining rows. All rows of the first read where no operand has routed
  /// rows. For AddReturned, ranges[i].begin is the slot of the expert whose gradient the i-th
  /// returned block is.
  std::vector<RowRange> ranges;
};

/// Calls f(first element, elements) for the rows that the op works on, of `width` elements each.
/// Ranges that adjoin are one call.
template <class F>
void for_each_run(const BoundOp& bound, std::int64_t width, F f) {
  std::int64_t begin = 0, end = 0;
  for (const RowRange& range : bound.ranges) {
    if (range.rows == 0) continue;
    if (range.begin != end) {
      if (end > begin) f(begin * width, (end - begin) * width);
      begin = range.begin;
    }
    end = range.begin + range.rows;
  }
  if (end > begin) f(begin * width, (end - begin) * width);
}

}  // namespace moe
