#pragma once

#include <stdexcept>
#include <string>

#include "moe/kernels/bf16.h"
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
constexpr DType dtype_of<Bf16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<Bf16Remainder>() {
  return DType::remainder;
}

/// The elements of a tensor. Throws std::logic_error where their type is not T.
template <class T>
T* data_of(const View& view) {
  if (view.dtype != dtype_of<T>()) {
    throw std::logic_error("kernel: a tensor in " + std::string(name_of(view.dtype)) + " where " +
                           std::string(name_of(dtype_of<T>())) + " belongs");
  }
  return static_cast<T*>(view.data);
}

inline std::int64_t count_of(const View& view) { return view.rows * view.columns; }

}  // namespace moe
