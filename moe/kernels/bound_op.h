#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/program/op.h"
#include "moe/rows/row_layout.h"

namespace moe {

/// A tensor as a kernel sees it, row-major: of routed rows all there are (BoundOp::ranges says which are meant),
/// of fixed ones those of its slice.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// An op whose sizes and addresses are known, ready to be executed by a backend.
struct BoundOp {
  const Op* op = nullptr;
  std::vector<View> reads;   ///< by position as in Op::reads
  std::vector<View> writes;  ///< by position as in Op::writes
  /// The rows of its slice of the first operand, reads before writes, that routed rows are: received and
  /// gathered ones for each local expert, sent ones with those that adjoin as one. All rows of the first read
  /// where none are. Of AddReturned: of which expert each block is that comes home, as a row.
  std::vector<RowRange> ranges;
};

}  // namespace moe
