#pragma once

#include <cstdint>

#include "moe/kernels/device.h"

namespace moe {

/// C = op(A) op(B) + beta C (+ bias in every row), all row-major: op(A) is [m,k], op(B) is [k,n],
/// C is [m,n]. Leading dimensions count elements from row to row as stored. A batch of several
/// repeats it at A + i stride_a and so on. What an executor's gemm() takes.
template <class Real>
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const Real* a = nullptr;
  std::int64_t lda = 0;
  bool transpose_a = false;
  const Real* b = nullptr;
  std::int64_t ldb = 0;
  bool transpose_b = false;
  Real* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;     ///< beta = 1, otherwise 0
  const Real* bias = nullptr;  ///< [n]; not together with accumulate or a batch
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
};

/// Every row of C becomes the bias, or zero without one: what a product is added to. A team per
/// row.
template <class Real>
struct FillRowsBody {
  Real* c;
  std::int64_t ldc, n;
  const Real* bias;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    Real* out = c + row * ldc;
    const Real* in = bias;
    if (in != nullptr) {
      team.for_each(n, [=](std::int64_t i) { out[i] = in[i]; });
    } else {
      team.for_each(n, [=](std::int64_t i) { out[i] = 0; });
    }
  }
};

}  // namespace moe
