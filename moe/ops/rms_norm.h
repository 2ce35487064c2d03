#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// x[T,M], scale[M] -> y[T,M] = x / rms(x) * scale, statistics[T,1] (reciprocal root mean square).
/// `epsilon` is added to the mean square.
struct RmsNorm {
  static constexpr OpFacts facts =
      kernel_op("rms_norm", CostUnit::bytes, {Cut::rows, Cut::whole}, {Cut::rows, wide(Cut::rows)});
  double epsilon = 1e-5;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], x[T,M], scale[M], statistics[T,1] -> dx[T,M]
struct RmsNormInputGradient {
  static constexpr OpFacts facts =
      kernel_op("rms_norm_input_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, Cut::whole, wide(Cut::rows)}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], x[T,M], statistics[T,1], (d_scale where `accumulate`) -> d_scale[M]
struct RmsNormWeightGradient {
  static constexpr OpFacts facts =
      kernel_op("rms_norm_weight_gradient", CostUnit::bytes,
                {Cut::rows, Cut::rows, wide(Cut::rows), wide(Cut::whole)}, {wide(Cut::sum)});
  bool accumulate = false;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
