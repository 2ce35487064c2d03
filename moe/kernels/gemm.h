#pragma once

#include <cstdint>

#include "moe/kernels/device.h"

namespace moe {

/// The argument of an executor's gemm(): C = op(A) op(B) + beta C (+ bias in every row), all
/// row-major. Products are added up in Wide<In>, whatever C is stored in. op(A) is [m,k], op(B) is
/// [k,n], C is [m,n]. Leading dimensions count elements from row to row as stored. A batch repeats
/// the product at A + i stride_a, B + i stride_b and C + i stride_c.
template <class In, class Out = In>
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const In* a = nullptr;
  std::int64_t lda = 0;
  bool transpose_a = false;
  const In* b = nullptr;
  std::int64_t ldb = 0;
  bool transpose_b = false;
  Out* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;   ///< beta = 1, otherwise 0
  const In* bias = nullptr;  ///< [n]; not together with accumulate, nor with a batch on a processor
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0, stride_bias = 0;
};

/// Sets every row of C to the bias, or to zero without one, before a product is added to it. A team
/// per row.
template <class In, class Out>
struct FillRowsBody {
  Out* c;
  std::int64_t ldc, n;
  const In* bias;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    Out* out = c + row * ldc;
    const In* in = bias;
    if (in != nullptr) {
      team.map(
          n, out, [](In value) { return Out(value); }, in);
    } else {
      team.map(n, out, [] { return Out(0); });
    }
  }
};

}  // namespace moe
