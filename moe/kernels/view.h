#pragma once

#include <stdexcept>

#include "moe/kernels/bound_op.h"

namespace moe {

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}

/// The elements of a tensor. Throws std::logic_error where their type is not T.
template <class T>
T* data_of(const View& view) {
  if (view.dtype != dtype_of<T>()) {
    throw std::logic_error("kernel: tensor of dtype " +
                           std::to_string(static_cast<int>(view.dtype)) + " where dtype " +
                           std::to_string(static_cast<int>(dtype_of<T>())) + " belongs");
  }
  return static_cast<T*>(view.data);
}

inline std::int64_t count_of(const View& view) { return view.rows * view.columns; }

}  // namespace moe
