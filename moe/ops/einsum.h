#pragma once

#include "moe/rows/op_facts.h"

/// Ops of GShard's order, which brings tokens into sent rows by products with a matrix, the mask. T
/// tokens, S sent rows of width M.
///
/// A mask is [S,n]: the weight of each of n tokens in each sent row. GShard's mask is token x
/// expert x slot with room for every expert's capacity. Here expert and slot are one dimension with
/// only the rows in use, so that a dropless layer has a mask too and no padding is sent. There is
/// one block of all T tokens, or one for each capacity group where `groups` is more than 1: row r
/// is then in group (r / slots) mod groups.
namespace moe {

/// expert i32[T,k], slot i32[T,k], offsets i32[1,E+1], (weight[T,k]) -> mask[S,T] (one slice):
/// weight, or 1 without, where the row holds a copy of the token, 0 elsewhere.
struct DispatchMask {
  static constexpr OpFacts facts = kernel_op(
      "dispatch_mask", CostUnit::bytes,
      {integers(Cut::whole), integers(Cut::whole), integers(Cut::whole), wide(Cut::whole)},
      {Cut::rows});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};
/// d_mask[S,T], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> d_weight[T,k], zero where
/// dropped
struct DispatchMaskGradient {
  static constexpr OpFacts facts =
      kernel_op("dispatch_mask_gradient", CostUnit::bytes,
                {Cut::whole, integers(Cut::whole), integers(Cut::whole), integers(Cut::whole)},
                {wide(Cut::whole)});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};

/// mask[S,n], x[T,M] -> rows[S,M] (one slice) = mask x
struct EinsumRows {
  static constexpr OpFacts facts =
      kernel_op("einsum_rows", CostUnit::flops, {Cut::rows, Cut::whole}, {Cut::rows});
  int groups = 1;
  std::int64_t slots = 0;  ///< slots of an expert in a group
  Work work(const OpSizes& sizes) const;
};
/// mask[S,n], rows[S,M] -> y[T,M] = mask^T rows
struct EinsumTokens {
  static constexpr OpFacts facts =
      kernel_op("einsum_tokens", CostUnit::flops, {Cut::whole, Cut::whole}, {Cut::whole});
  int groups = 1;
  std::int64_t slots = 0;
  Work work(const OpSizes& sizes) const;
};
/// rows[S,M], x[T,M] -> d_mask[S,n] = rows x^T
struct EinsumMask {
  static constexpr OpFacts facts =
      kernel_op("einsum_mask", CostUnit::flops, {Cut::whole, Cut::whole}, {Cut::whole});
  int groups = 1;
  std::int64_t slots = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
