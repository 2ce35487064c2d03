#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Real>
struct AddBiasShareBody {
  const Real* bias;
  Real share;
  std::int64_t columns;
  Real* y;
  MOE_BODY void operator()(std::int64_t i) const { y[i] += share * bias[i % columns]; }
};

/// y[rows,O] = x[rows,I] W[I,O] + bias_share bias[O]; `bias` may be nullptr. Dense layers and
/// experts share the three functions of this file.
template <class Real, class Exec>
void linear(Exec& exec, const Real* x, const Real* weight, const Real* bias, double bias_share,
            Real* y, std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  exec.gemm(Gemm<Real>{.m = rows,
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
    exec.elements(rows * outputs,
                  AddBiasShareBody<Real>{bias, static_cast<Real>(bias_share), outputs, y});
  }
}

/// dx[rows,I] = dy[rows,O] W^T.
template <class Real, class Exec>
void linear_input_gradient(Exec& exec, const Real* dy, const Real* weight, Real* dx,
                           std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  exec.gemm(Gemm<Real>{.m = rows,
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
template <class Real, class Exec>
void linear_weight_gradient(Exec& exec, const Real* x, const Real* dy, Real* d_weight, Real* d_bias,
                            std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                            bool accumulate) {
  exec.gemm(Gemm<Real>{.m = inputs,
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
    exec.column_sums(rows, outputs, ElementTerms<Real>{dy, outputs},
                     SumTargets<Real, 1>{{d_bias}, accumulate});
  }
}

template <class Real, class Exec>
void launch(Exec& exec, const Linear& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  const Real* bias = bound.reads.size() > 2 ? data_of<Real>(bound.reads[2]) : nullptr;
  linear<Real>(exec, data_of<Real>(x), data_of<Real>(bound.reads[1]), bias, op.bias_share,
               data_of<Real>(bound.writes[0]), x.rows, x.columns, bound.writes[0].columns);
}

template <class Real, class Exec>
void launch(Exec& exec, const LinearInputGradient&, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  linear_input_gradient<Real>(exec, data_of<Real>(dy), data_of<Real>(bound.reads[1]),
                              data_of<Real>(bound.writes[0]), dy.rows, bound.writes[0].columns,
                              dy.columns);
}

template <class Real, class Exec>
void launch(Exec& exec, const LinearWeightGradient& op, const BoundOp& bound) {
  const View& x = bound.reads[0];
  const View& dy = bound.reads[1];
  Real* d_bias = bound.writes.size() > 1 ? data_of<Real>(bound.writes[1]) : nullptr;
  linear_weight_gradient<Real>(exec, data_of<Real>(x), data_of<Real>(dy),
                               data_of<Real>(bound.writes[0]), d_bias, x.rows, x.columns,
                               dy.columns, op.accumulate);
}

}  // namespace moe
