#pragma once

#include "moe/kernels/linear.h"

namespace moe {

/// Calls f(i, rows) for the experts in slots first_slot + i, i < experts, with their rows in this
/// slice. Throws std::logic_error where the op was bound with fewer ranges.
template <class F>
void for_each_expert(const BoundOp& bound, int first_slot, int experts, F f) {
  if (static_cast<int>(bound.ranges.size()) < first_slot + experts) {
    throw std::logic_error(bound.op->name + ": " + std::to_string(bound.ranges.size()) +
                           " row ranges for " + std::to_string(first_slot + experts) +
                           " local experts");
  }
  for (int i = 0; i < experts; ++i) {
    f(i, bound.ranges[first_slot + i]);
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const ExpertLinear& op, const BoundOp& bound) {
  const Stored* x = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  const std::int64_t inputs = bound.reads[0].columns, outputs = bound.writes[0].columns;
  // The weights and biases of `experts` experts, which are in the slots from `first_slot` on.
  const auto multiply = [&](int first_slot, int experts, std::size_t first, bool biased) {
    const Stored* weight = data_of<Stored>(bound.reads[first]);
    const Stored* bias = biased ? data_of<Stored>(bound.reads[first + 1]) : nullptr;
    for_each_expert(bound, first_slot, experts, [&](int expert, RowRange range) {
      if (range.rows == 0) return;
      linear(exec, x + range.begin * inputs, weight + expert * inputs * outputs,
             bias == nullptr ? nullptr : bias + expert * outputs, op.bias_share,
             y + range.begin * outputs, range.rows, inputs, outputs);
    });
  };
  const std::size_t each = (bound.reads.size() - 1) / (op.replica_slots > 0 ? 2 : 1);
  multiply(0, op.local_experts, 1, each > 1);
  if (op.replica_slots > 0) multiply(op.local_experts, op.replica_slots, 1 + each, each > 1);
}

template <class Stored, class Exec>
void launch(Exec& exec, const ExpertLinearInputGradient& op, const BoundOp& bound) {
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  Stored* dx = data_of<Stored>(bound.writes[0]);
  const std::int64_t inputs = bound.writes[0].columns, outputs = bound.reads[0].columns;
  const auto multiply = [&](int first_slot, int experts, const View& weights) {
    const Stored* weight = data_of<Stored>(weights);
    for_each_expert(bound, first_slot, experts, [&](int expert, RowRange range) {
      if (range.rows == 0) return;
      linear_input_gradient(exec, dy + range.begin * outputs, weight + expert * inputs * outputs,
                            dx + range.begin * inputs, range.rows, inputs, outputs);
    });
  };
  multiply(0, op.local_experts, bound.reads[1]);
  if (op.replica_slots > 0) multiply(op.local_experts, op.replica_slots, bound.reads[2]);
}

/// An expert without rows has a gradient of zero; where slices add up it keeps its value.
template <class Stored, class Exec>
void launch(Exec& exec, const ExpertLinearWeightGradient& op, const BoundOp& bound) {
  const Stored* x = data_of<Stored>(bound.reads[0]);
  const Stored* dy = data_of<Stored>(bound.reads[1]);
  auto* d_weight = data_of<Wide<Stored>>(bound.writes[0]);
  auto* d_bias = bound.writes.size() > 1 ? data_of<Wide<Stored>>(bound.writes[1]) : nullptr;
  const std::int64_t inputs = bound.reads[0].columns, outputs = bound.reads[1].columns;
  for_each_expert(bound, op.first_slot, op.local_experts, [&](int expert, RowRange range) {
    if (range.rows == 0 && op.accumulate) return;
    linear_weight_gradient(exec, x + range.begin * inputs, dy + range.begin * outputs,
                           d_weight + expert * inputs * outputs,
                           d_bias == nullptr ? nullptr : d_bias + expert * outputs, range.rows,
                           inputs, outputs, op.accumulate);
  });
}

}  // namespace moe
