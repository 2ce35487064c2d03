#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

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

/// The products of all experts in one call, so that a device can carry them out together.
template <class Stored, class Exec>
void launch(Exec& exec, const ExpertLinear& op, const BoundOp& bound) {
  const Stored* x = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  const std::int64_t inputs = bound.reads[0].columns, outputs = bound.writes[0].columns;
  std::vector<Gemm<Stored>> products;
  const bool shared = op.bias_share != 1;
  // The weights and biases of `experts` experts, which are in the slots from `first_slot` on.
  const auto add = [&](int first_slot, int experts, std::size_t first, bool biased) {
    const Stored* weight = data_of<Stored>(bound.reads[first]);
    const Stored* bias = biased ? data_of<Stored>(bound.reads[first + 1]) : nullptr;
    for_each_expert(bound, first_slot, experts, [&](int expert, RowRange range) {
      if (range.rows == 0) return;
      products.push_back(linear_product(x + range.begin * inputs,
                                        weight + expert * inputs * outputs,
                                        biased ? bias + expert * outputs : nullptr,
                                        y + range.begin * outputs, range.rows, inputs, outputs));
    });
  };
  const std::size_t each = (bound.reads.size() - 1) / (op.replica_slots > 0 ? 2 : 1);
  add(0, op.local_experts, 1, each > 1);
  if (op.replica_slots > 0) add(op.local_experts, op.replica_slots, 1 + each, each > 1);
  std::vector<Gemm<Stored>> without_bias;
  if (shared) {
    without_bias = products;
    for (Gemm<Stored>& product : without_bias) product.bias = nullptr;
  }
  exec.gemms(std::span<const Gemm<Stored>>(shared ? without_bias : products));
  for (const Gemm<Stored>& product : products) {
    if (!shared || product.bias == nullptr) continue;
    add_bias_share(exec, product.bias, op.bias_share, product.c, product.m, outputs);
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const ExpertLinearInputGradient& op, const BoundOp& bound) {
  const Stored* dy = data_of<Stored>(bound.reads[0]);
  Stored* dx = data_of<Stored>(bound.writes[0]);
  const std::int64_t inputs = bound.writes[0].columns, outputs = bound.reads[0].columns;
  std::vector<Gemm<Stored>> products;
  const auto add = [&](int first_slot, int experts, const View& weights) {
    const Stored* weight = data_of<Stored>(weights);
    for_each_expert(bound, first_slot, experts, [&](int expert, RowRange range) {
      if (range.rows == 0) return;
      products.push_back(
          input_gradient_product(dy + range.begin * outputs, weight + expert * inputs * outputs,
                                 dx + range.begin * inputs, range.rows, inputs, outputs));
    });
  };
  add(0, op.local_experts, bound.reads[1]);
  if (op.replica_slots > 0) add(op.local_experts, op.replica_slots, bound.reads[2]);
  exec.gemms(std::span<const Gemm<Stored>>(products));
}

/// An expert without rows has a gradient of zero; where slices add up it keeps its value.
template <class Stored, class Exec>
void launch(Exec& exec, const ExpertLinearWeightGradient& op, const BoundOp& bound) {
  const Stored* x = data_of<Stored>(bound.reads[0]);
  const Stored* dy = data_of<Stored>(bound.reads[1]);
  auto* d_weight = data_of<Wide<Stored>>(bound.writes[0]);
  const std::int64_t inputs = bound.reads[0].columns, outputs = bound.reads[1].columns;
  std::vector<Gemm<Stored, Wide<Stored>>> products;
  for_each_expert(bound, op.first_slot, op.local_experts, [&](int expert, RowRange range) {
    if (range.rows == 0 && op.accumulate) return;
    products.push_back(weight_gradient_product(x + range.begin * inputs, dy + range.begin * outputs,
                                               d_weight + expert * inputs * outputs, range.rows,
                                               inputs, outputs, op.accumulate));
  });
  if (bound.writes.size() > 1) {
    exec.column_sums_of_groups(dy,
                               std::span(bound.ranges)
                                   .subspan(static_cast<std::size_t>(op.first_slot),
                                            static_cast<std::size_t>(op.local_experts)),
                               outputs, data_of<Wide<Stored>>(bound.writes[1]), op.accumulate);
  }
  exec.gemms(std::span<const Gemm<Stored, Wide<Stored>>>(products));
}

}  // namespace moe
