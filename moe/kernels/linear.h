#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored, class Out>
struct AddBiasShareBody {
  const Stored* bias;
  Wide<Stored> share;
  std::int64_t columns;
  Out* y;
  MOE_BODY void operator()(std::int64_t i) const { y[i] = y[i] + share * bias[i % columns]; }
};

/// y[rows,O] = x[rows,I] W[I,O] + bias[O]; `bias` may be nullptr. Dense layers and experts share
/// the three products of this file.
template <class Stored, class Out>
Gemm<Stored, Out> linear_product(const Stored* x, const Stored* weight, const Stored* bias, Out* y,
                                 std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  return {.m = rows,
          .n = outputs,
          .k = inputs,
          .a = x,
          .lda = inputs,
          .b = weight,
          .ldb = outputs,
          .c = y,
          .ldc = outputs,
          .bias = bias};
}

/// dx[rows,I] = dy[rows,O] W^T.
template <class Stored>
Gemm<Stored> input_gradient_product(const Stored* dy, const Stored* weight, Stored* dx,
                                    std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  return {.m = rows,
          .n = inputs,
          .k = outputs,
          .a = dy,
          .lda = outputs,
          .b = weight,
          .ldb = outputs,
          .transpose_b = true,
          .c = dx,
          .ldc = inputs};
}

/// d_weight[I,O] (+)= x^T dy.
template <class Stored>
Gemm<Stored, Wide<Stored>> weight_gradient_product(const Stored* x, const Stored* dy,
                                                   Wide<Stored>* d_weight, std::int64_t rows,
                                                   std::int64_t inputs, std::int64_t outputs,
                                                   bool accumulate) {
  return {.m = inputs,
          .n = outputs,
          .k = rows,
          .a = x,
          .lda = inputs,
          .transpose_a = true,
          .b = dy,
          .ldb = outputs,
          .c = d_weight,
          .ldc = outputs,
          .accumulate = accumulate};
}

/// y[rows,O] += share bias[O]
template <class Stored, class Out, class Exec>
void add_bias_share(Exec& exec, const Stored* bias, double share, Out* y, std::int64_t rows,
                    std::int64_t outputs) {
  exec.elements(rows * outputs,
                AddBiasShareBody<Stored, Out>{bias, static_cast<Wide<Stored>>(share), outputs, y});
}

/// d_bias[O] (+)= the sum of the rows of dy.
template <class Stored, class Exec>
void sum_bias_gradient(Exec& exec, const Stored* dy, Wide<Stored>* d_bias, std::int64_t rows,
                       std::int64_t outputs, bool accumulate) {
  exec.column_sums(rows, outputs, ElementTerm<Stored>{},
                   SumTargets<Wide<Stored>, 1>{{d_bias}, accumulate}, dy);
}

/// y may be stored or wide.
template <class Stored, class Exec>
void launch(Exec& exec, const Linear& op, const BoundOp& bound) {
  const View &x = bound.reads[0], &y = bound.writes[0];
  const Stored* bias = bound.reads.size() > 2 ? data_of<Stored>(bound.reads[2]) : nullptr;
  const bool shared = bias != nullptr && op.bias_share != 1;
  const auto write = [&](auto* out) {
    exec.gemm(linear_product(data_of<Stored>(x), data_of<Stored>(bound.reads[1]),
                             shared ? nullptr : bias, out, x.rows, x.columns, y.columns));
    if (shared) add_bias_share(exec, bias, op.bias_share, out, x.rows, y.columns);
  };
  if (y.dtype == dtype_of<Stored>()) {
    write(data_of<Stored>(y));
  } else {
    write(data_of<Wide<Stored>>(y));
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const LinearInputGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  exec.gemm(input_gradient_product(data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                                   data_of<Stored>(bound.writes[0]), dy.rows,
                                   bound.writes[0].columns, dy.columns));
}

template <class Stored, class Exec>
void launch(Exec& exec, const LinearWeightGradient& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  const View& dy = bound.reads[1];
  exec.gemm(weight_gradient_product(data_of<Stored>(x), data_of<Stored>(dy),
                                    data_of<Wide<Stored>>(bound.writes[0]), x.rows, x.columns,
                                    dy.columns, op.accumulate));
  if (bound.writes.size() > 1) {
    sum_bias_gradient(exec, data_of<Stored>(dy), data_of<Wide<Stored>>(bound.writes[1]), dy.rows,
                      dy.columns, op.accumulate);
  }
}

}  // namespace moe
