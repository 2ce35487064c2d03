#pragma once

#include <cstdint>

#include "moe/ops/draw.h"
#include "moe/rows/op_facts.h"

/// Ops that hooks put into a mixture of experts (model/hooks).
namespace moe {

/// x[T,M], step i32[1,1] -> y[T,M] = x (1 + epsilon u), u uniform in [-1, 1) and drawn as draw.h says, column
/// by column: the same on any ranks and in any micro-batches, and for x and its gradient.
struct Jitter {
  static constexpr OpFacts facts =
      kernel_op("jitter", CostUnit::bytes, {Cut::rows, Cut::whole}, {Cut::rows});
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
