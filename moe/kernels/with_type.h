#pragma once

#include <cstdint>
#include <stdexcept>

#include "moe/kernels/bf16.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Calls `body` with a value of the type in which elements of `dtype` are stored, and returns what it
/// returns, which is the same for all types.
template <typename Body>
decltype(auto) with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f32:
      return body(float{});
    case DType::f64:
      return body(double{});
    case DType::bf16:
      return body(Bf16{});
    case DType::i32:
      return body(std::int32_t{});
    case DType::remainder:
      break;
  }
  throw std::logic_error("with_type: a type that has no numbers of its own");
}

}  // namespace moe
