#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "moe/kernels/bf16.h"
#include "tests/cuda_emulation/matrix_product.h"

namespace moelab::cuda_emulation {
namespace {

/// The products of a call. Their addresses are on the device, and are known when they run.
template <class Sum, class T>
struct GroupedProducts {
  std::vector<Product<Sum, T, T>> products;
  const void* const* a;
  const void* const* b;
  void* const* c;

  void check(const char* who) const {
    for (const void* addresses :
         {static_cast<const void*>(a), static_cast<const void*>(b), static_cast<const void*>(c)}) {
      check_device_pointer(addresses, products.size() * sizeof(void*), who);
    }
  }
  void compute(const char* who) const {
    for (std::size_t i = 0; i < products.size(); ++i) {
      Product<Sum, T, T> one = products[i];
      one.a.first = static_cast<const T*>(a[i]);
      one.b.first = static_cast<const T*>(b[i]);
      one.c.first = static_cast<T*>(c[i]);
      one.check(who);
      one.compute();
    }
  }
};

}  // namespace
}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;

cublasStatus_t cublasGemmGroupedBatchedEx_64(
    cublasHandle_t handle, const cublasOperation_t op_a[], const cublasOperation_t op_b[],
    const std::int64_t m[], const std::int64_t n[], const std::int64_t k[], const void* alpha,
    const void* const a[], cudaDataType_t type_a, const std::int64_t lda[], const void* const b[],
    cudaDataType_t type_b, const std::int64_t ldb[], const void* beta, void* const c[],
    cudaDataType_t type_c, const std::int64_t ldc[], std::int64_t groups,
    const std::int64_t group_size[], cublasComputeType_t compute) {
  if (type_a != type_b) return CUBLAS_STATUS_INVALID_VALUE;
  if (type_c != type_a) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto call = [&]<class Sum, class T>(Sum, T) {
    constexpr const char* kName = "cublasGemmGroupedBatchedEx";
    emulation::GroupedProducts<Sum, T> all{{}, a, b, c};
    for (std::int64_t group = 0; group < groups; ++group) {
      for (std::int64_t i = 0; i < group_size[group]; ++i) {
        all.products.push_back({m[group],
                                n[group],
                                k[group],
                                1,
                                static_cast<const Sum*>(alpha)[group],
                                static_cast<const Sum*>(beta)[group],
                                {nullptr, lda[group], 0, op_a[group] == CUBLAS_OP_T},
                                {nullptr, ldb[group], 0, op_b[group] == CUBLAS_OP_T},
                                {nullptr, ldc[group], 0, false}});
      }
    }
    return emulation::enqueue_checked(
        handle->stream, kName, [&] { all.check(kName); }, [all] { all.compute(kName); });
  };
  if (type_a == CUDA_R_64F && compute == CUBLAS_COMPUTE_64F) return call(double{}, double{});
  if (compute != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_INVALID_VALUE;
  if (type_a == CUDA_R_32F) return call(float{}, float{});
  return type_a == CUDA_R_16BF ? call(float{}, moe::Bf16{}) : CUBLAS_STATUS_NOT_SUPPORTED;
}
