#pragma once

#include <cstdint>

#include "moe/rows/op_facts.h"

/// Ops of a MoE layer whose rows are padded to the capacity (Model::exchange): every rank sends
/// every expert rows_per_pair rows, of which the first hold copies of tokens and the others zeros.
/// E experts, S sent rows.
namespace moe {

/// offsets i32[1,E+1] -> padded i32[2,E+1]: the first of the rows_per_pair rows of every expert,
/// which end with S; then the number of copies kept for every expert, which end with 0.
struct PadOffsets {
  static constexpr OpFacts facts =
      kernel_op("pad_offsets", CostUnit::bytes, {integers(Cut::whole)}, {integers(Cut::whole)});
  std::int64_t rows_per_pair = 0;
  Work work(const OpSizes& sizes) const;
};
/// padded i32[2,E+1], rows[S,c] -> the same rows (one slice), with zeros in those without a copy
struct ClearPadding {
  static constexpr OpFacts facts =
      kernel_op("clear_padding", CostUnit::bytes, {integers(Cut::whole), Cut::rows}, {Cut::rows});
  /// As if all rows of the slice were cleared: how many are depends on the tokens.
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
