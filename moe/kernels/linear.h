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

/// y[rows,O] = x[rows,I] W[I,O] + bias_share bias[O]; `bias` may be nullptr. Dense layers and
/// experts share the three functions of this file.
template <class Stored, class Out, class Exec>
void linear(Exec& exec, const Stored* x, const Stored* weight, const Stored* bias,
            double bias_share, Out* y, std::int64_t rows, std::int64_t inputs,
            std::int64_t outputs) {
  exec.gemm(Gemm<Stored, Out>{.m = rows,
                              .n = outputs,
                              .k = inputs,
                              .a = x,
                              .lda = inputs,
                              .b = weight,
                              .ldb = outputs,
                              .c = y,
                              .ldc = outputs,
                              .bias = bias_share == 1 ? bias : nullptr});
  if (bias != nullptr && bias_share != 1) {
    exec.elements(rows * outputs, AddBiasShareBody<Stored, Out>{
                                      bias, static_cast<Wide<Stored>>(bias_share), outputs, y});
  }
}

/// dx[rows,I] = dy[rows,O] W^T.
template <class Stored, class Exec>
void linear_input_gradient(Exec& exec, const Stored* dy, const Stored* weight, Stored* dx,
                           std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  exec.gemm(Gemm<Stored>{.m = rows,
                         .n = inputs,
                         .k = outputs,
                         .a = dy,
                         .lda = outputs,
                         .b = weight,
                         .ldb = outputs,
                         .transpose_b = true,
                         .c = dx,
                         .ldc = inputs});
}

/// d_weight[I,O] (+)= x^T dy, d_bias[O] (+)= sum of the rows of dy; `d_bias` may be nullptr.
template <class Stored, class Exec>
void linear_weight_gradient(Exec& exec, const Stored* x, const Stored* dy, Wide<Stored>* d_weight,
                            Wide<Stored>* d_bias, std::int64_t rows, std::int64_t inputs,
                            std::int64_t outputs, bool accumulate) {
  exec.gemm(Gemm<Stored, Wide<Stored>>{.m = inputs,
                                       .n = outputs,
                                       .k = rows,
                                       .a = x,
                                       .lda = inputs,
                                       .transpose_a = true,
                                       .b = dy,
                                       .ldb = outputs,
                                       .c = d_weight,
                                       .ldc = outputs,
                                       .accumulate = accumulate});
  if (d_bias != nullptr) {
    exec.column_sums(rows, outputs, ElementTerms<Stored>{dy, outputs},
                     SumTargets<Wide<Stored>, 1>{{d_bias}, accumulate});
  }
}

/// y may be stored or wide.
template <class Stored, class Exec>
void launch(Exec& exec, const Linear& op, const BoundOp& bound) {
  const View &x = bound.reads[0], &y = bound.writes[0];
  const Stored* bias = bound.reads.size() > 2 ? data_of<Stored>(bound.reads[2]) : nullptr;
  const auto write = [&](auto* out) {
    linear(exec, data_of<Stored>(x), data_of<Stored>(bound.reads[1]), bias, op.bias_share, out,
           x.rows, x.columns, y.columns);
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
  linear_input_gradient(exec, data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                        data_of<Stored>(bound.writes[0]), dy.rows, bound.writes[0].columns,
                        dy.columns);
}

template <class Stored, class Exec>
void launch(Exec& exec, const LinearWeightGradient& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  const View& dy = bound.reads[1];
  auto* d_bias = bound.writes.size() > 1 ? data_of<Wide<Stored>>(bound.writes[1]) : nullptr;
  linear_weight_gradient(exec, data_of<Stored>(x), data_of<Stored>(dy),
                         data_of<Wide<Stored>>(bound.writes[0]), d_bias, x.rows, x.columns,
                         dy.columns, op.accumulate);
}

}  // namespace moe
