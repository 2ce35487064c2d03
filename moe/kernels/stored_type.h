#pragma once

#include "moe/kernels/bound_op.h"

namespace moe {

/// The type in which what the op works on is stored: bf16 where any operand is, since its wide
/// operands are then in f32; f32 where all are integers.
inline DType stored_type(const BoundOp& bound) {
  for (const auto* views : {&bound.writes, &bound.reads}) {
    for (const View& view : *views) {
      if (view.dtype == DType::f64 || view.dtype == DType::bf16) return view.dtype;
    }
  }
  return DType::f32;
}

}  // namespace moe
