#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "moe/backend/cuda_stream.cuh"
#include "moe/kernels/bf16.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/view.h"

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

/// C by cublasLt in the way that was chosen for this product (DeviceStream::ways()). One with a bias,
/// which its epilogue adds before C is stored, goes in cublasLt's own way where none was chosen.
/// Returns false, having done nothing, where cublasLt is not asked, or has no kernel for these
/// types, sizes or addresses. No dimension may be 0.
template <class In, class Out>
bool gemm_by_lt(DeviceStream& stream, const Gemm<In, Out>& gemm);
/// The same by one algorithm. Throws CudaError where it cannot.
template <class In, class Out>
void gemm_by_lt(DeviceStream& stream, const Gemm<In, Out>& gemm,
                const cublasLtMatmulAlgo_t& algorithm);
/// An algorithm of cublasLt. nvcc 13.0 fails where a vector grows whose type has no name of its own.
struct Algorithm : cublasLtMatmulAlgo_t {};
/// At most `most` algorithms, and kMostAlgorithms, that cublasLt has for it, the one it would take first. They need no
/// more than kWayAlignment of addresses.
template <class In, class Out>
std::vector<Algorithm> algorithms_of_lt(DeviceStream& stream, const Gemm<In, Out>& gemm, int most);
inline constexpr int kMostAlgorithms = 8;
inline constexpr std::uint32_t kWayAlignment = 16;  ///< bytes

/// The most products that grouped_gemm() takes.
inline constexpr std::size_t kMostGrouped = DeviceStream::kMostPointers / 3;

/// Products of any sizes in one call; they have neither biases nor batches, and no dimension is 0.
/// Returns false, having done nothing, where this cuBLAS has no call for these types.
template <class In, class Out>
bool grouped_gemm(DeviceStream& stream, std::span<const Gemm<In, Out>> gemms);

/// Ways to carry out products that are too small to fill the device: in one grouped call, where
/// cuBLAS has it for their types, one after the other, or several at a time on streams.
enum class GroupWay : std::uint8_t { together, one_by_one, side_by_side };
inline constexpr std::string_view kGroupWayNames[] = {"together", "one by one",
                                                      DeviceStream::kSideBySide};
/// Whether a product fills at least half of the device. In a group it would then be slower: on an
/// H200 groups of large products in bf16 ran at two fifths of the card's limit.
bool occupies(const DeviceStream& stream, std::int64_t m, std::int64_t n);
/// At most kMostGrouped of them. No dimension may be 0.
template <class In, class Out>
void small_gemms(DeviceStream& stream, std::span<Gemm<In, Out>> gemms, GroupWay way);
/// The product as it is known by.
template <class In, class Out>
Product product_of(const Gemm<In, Out>& gemm) {
  return {.in = dtype_of<In>(),
          .out = dtype_of<Out>(),
          .transpose_a = gemm.transpose_a,
          .transpose_b = gemm.transpose_b,
          .accumulate = gemm.accumulate,
          .biased = gemm.bias != nullptr,
          .m = gemm.m,
          .n = gemm.n,
          .k = gemm.k,
          .batch = gemm.batch};
}

/// Backend::time_products() on a stream that has a workspace.
std::vector<ProductWay> time_products(DeviceStream& stream, DeviceWaits& waits,
                                      std::span<const Product> products);

}  // namespace moe
