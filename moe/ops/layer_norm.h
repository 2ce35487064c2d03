#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// x[T,M], scale[M], shift[M] -> y[T,M], statistics[T,2] (mean, reciprocal standard deviation).
/// `epsilon` is added to the variance.
struct LayerNorm {
  static constexpr OpFacts facts =
      kernel_op("layer_norm", CostUnit::bytes, {Cut::rows, Cut::whole, Cut::whole},
                {Cut::rows, wide(Cut::rows)});
  double epsilon = 1e-5;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], x[T,M], scale[M], statistics[T,2] -> dx[T,M]
struct LayerNormInputGradient {
  static constexpr OpFacts facts =
      kernel_op("layer_norm_input_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, Cut::whole, wide(Cut::rows)}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], x[T,M], statistics[T,2], (the gradients where `accumulate`) -> d_scale[M], d_shift[M]
struct LayerNormWeightGradient {
  static constexpr OpFacts facts =
      kernel_op("layer_norm_weight_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, wide(Cut::rows), wide(Cut::whole), wide(Cut::whole)},
                {wide(Cut::sum), wide(Cut::sum)});
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
