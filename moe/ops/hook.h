#pragma once

#include <cstdint>

#include "moe/ops/draw.h"
#include "moe/rows/op_facts.h"

/// Ops that hooks add to a MoE layer (model/hooks).
namespace moe {

/// x[T,M], step i32[1,1] -> y[T,M] = x (1 + epsilon u), with u uniform in [-1, 1) and drawn as
/// draw.h says, column by column. It does not depend on the number of ranks or micro-batches, and
/// is the same for x and its gradient.
struct Jitter {
  static constexpr OpFacts facts =
      kernel_op("jitter", CostUnit::bytes, {Cut::rows, integers(Cut::whole)}, {Cut::rows});
  double epsilon = 0;
  Draw draw{};
  Work work(const OpSizes& sizes) const;
};

/// x[n,c] -> y[n,c], rounded to the nearest bfloat16 (ties to even); n may be rows of one slice
struct RoundBf16 {
  static constexpr OpFacts facts =
      kernel_op("round_bf16", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
