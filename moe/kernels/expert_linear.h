#pragma once

#include "moe/kernels/linear.h"

namespace moe {

/// Calls f(local expert, its rows of this slice) for every local expert. Throws std::logic_error
/// when the op was bound with other than one range per expert.
template <class F>
void for_each_expert(const BoundOp& bound, int local_experts, F f) {
  if (static_cast<int>(bound.ranges.size()) != local_experts) {
    throw std::logic_error(bound.op->name + ": " + std::to_string(bound.ranges.size()) +
                           " row ranges for " + std::to_string(local_experts) + " local experts");
  }
  for (int expert = 0; expert < local_experts; ++expert) f(expert, bound.ranges[expert]);
}

template <class Real, class Exec>
void launch(Exec& exec, const ExpertLinear& op, const BoundOp& bound) {
  const Real* x = data_of<Real>(bound.reads[0]);
  const Real* weight = data_of<Real>(bound.reads[1]);
  const Real* bias = bound.reads.size() > 2 ? data_of<Real>(bound.reads[2]) : nullptr;
  Real* y = data_of<Real>(bound.writes[0]);
  const std::int64_t inputs = bound.reads[0].columns, outputs = bound.writes[0].columns;
  for_each_expert(bound, op.local_experts, [&](int expert, RowRange range) {
    if (range.rows == 0) return;
    linear<Real>(exec, x + range.begin * inputs, weight + expert * inputs * outputs,
                 bias == nullptr ? nullptr : bias + expert * outputs, op.bias_share,
                 y + range.begin * outputs, range.rows, inputs, outputs);
  });
}

template <class Real, class Exec>
void launch(Exec& exec, const ExpertLinearInputGradient& op, const BoundOp& bound) {
  const Real* dy = data_of<Real>(bound.reads[0]);
  const Real* weight = data_of<Real>(bound.reads[1]);
  Real* dx = data_of<Real>(bound.writes[0]);
  const std::int64_t inputs = bound.writes[0].columns, outputs = bound.reads[0].columns;
  for_each_expert(bound, op.local_experts, [&](int expert, RowRange range) {
    if (range.rows == 0) return;
    linear_input_gradient<Real>(exec, dy + range.begin * outputs,
                                weight + expert * inputs * outputs, dx + range.begin * inputs,
                                range.rows, inputs, outputs);
  });
}

/// An expert without rows still has a gradient: zero, unless slices add up.
template <class Real, class Exec>
void launch(Exec& exec, const ExpertLinearWeightGradient& op, const BoundOp& bound) {
  const Real* x = data_of<Real>(bound.reads[0]);
  const Real* dy = data_of<Real>(bound.reads[1]);
  Real* d_weight = data_of<Real>(bound.writes[0]);
  Real* d_bias = bound.writes.size() > 1 ? data_of<Real>(bound.writes[1]) : nullptr;
  const std::int64_t inputs = bound.reads[0].columns, outputs = bound.reads[1].columns;
  for_each_expert(bound, op.local_experts, [&](int expert, RowRange range) {
    if (range.rows == 0 && op.accumulate) return;
    linear_weight_gradient<Real>(exec, x + range.begin * inputs, dy + range.begin * outputs,
                                 d_weight + expert * inputs * outputs,
                                 d_bias == nullptr ? nullptr : d_bias + expert * outputs,
                                 range.rows, inputs, outputs, op.accumulate);
  });
}

}  // namespace moe
