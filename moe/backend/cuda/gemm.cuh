#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <span>
#include <type_traits>

#include "moe/backend/cuda_stream.cuh"
#include "moe/kernels/bf16.h"
#include "moe/kernels/gemm.h"

/// Ways to multiply that a device may have. cuBLAS is column-major: all of them compute
/// C^T = op(B)^T op(A)^T on the same memory.
namespace moe {

template <class T>
constexpr cudaDataType blas_type() {
  if constexpr (std::is_same_v<T, Bf16>) return CUDA_R_16BF;
  if constexpr (std::is_same_v<T, float>) return CUDA_R_32F;
  if constexpr (std::is_same_v<T, double>) return CUDA_R_64F;
}

inline cublasOperation_t blas_operation(bool transposed) {
  return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// C = op(A) op(B) + bias by cublasLt, whose epilogue adds the bias before C is stored. Returns
/// false, having done nothing, where it has no kernel for these types, sizes or addresses. No
/// dimension may be 0.
template <class In, class Out>
bool gemm_with_bias(DeviceStream& stream, const Gemm<In, Out>& gemm);

/// The most products that grouped_gemm() takes.
inline constexpr std::size_t kMostGrouped = DeviceStream::kMostPointers / 3;

/// Products of any sizes in one call; they have neither biases nor batches, and no dimension is 0.
/// Returns false, having done nothing, where this cuBLAS has no call for these types.
template <class In, class Out>
bool grouped_gemm(DeviceStream& stream, std::span<const Gemm<In, Out>> gemms);

}  // namespace moe
