#include <cublas_v2.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "moe/kernels/bf16.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/stream.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace moelab::cuda_emulation {
namespace {

template <class T>
struct Matrices {
  T* first;
  std::int64_t leading;
  std::int64_t stride;
  bool transposed;

  /// Element [row, column] of op(matrix) in product `batch`.
  T& at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return first[batch * stride + (transposed ? column + row * leading : row + column * leading)];
  }
  /// Bytes from the first element to the last of all, where op(matrix) is [rows, columns].
  std::size_t bytes(std::int64_t batch, std::int64_t rows, std::int64_t columns) const {
    if (rows <= 0 || columns <= 0 || batch <= 0) return 0;
    const T* const last = &at(batch - 1, rows - 1, columns - 1);
    return static_cast<std::size_t>(last - first + 1) * sizeof(T);
  }
};

/// C = alpha op(A) op(B) + beta C, [m,n] of k terms, added up in Sum in order.
template <class Sum, class In, class Out>
struct Product {
  std::int64_t m, n, k, batch;
  Sum alpha, beta;
  Matrices<const In> a, b;
  Matrices<Out> c;

  void check(const char* who) const {
    check_device_pointer(a.first, a.bytes(batch, m, k), who);
    check_device_pointer(b.first, b.bytes(batch, k, n), who);
    check_device_pointer(c.first, c.bytes(batch, m, n), who);
  }

  void compute() const {
    std::vector<Sum> sums(static_cast<std::size_t>(m));
    for (std::int64_t which = 0; which < batch; ++which) {
      for (std::int64_t column = 0; column < n; ++column) {
        std::fill(sums.begin(), sums.end(), Sum{0});
        for (std::int64_t term = 0; term < k; ++term) {
          const Sum right = b.at(which, term, column);
          for (std::int64_t row = 0; row < m; ++row) {
            sums[static_cast<std::size_t>(row)] += static_cast<Sum>(a.at(which, row, term)) * right;
          }
        }
        for (std::int64_t row = 0; row < m; ++row) {
          Out& out = c.at(which, row, column);
          const Sum before = beta == Sum{0} ? Sum{0} : beta * static_cast<Sum>(out);
          out = static_cast<Out>(alpha * sums[static_cast<std::size_t>(row)] + before);
        }
      }
    }
  }
};

template <class Sum, class In, class Out>
cublasStatus_t enqueue_product(cublasHandle_t handle, const char* name,
                               const Product<Sum, In, Out>& product) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cudaError_t status = runtime_call([&] {
    product.check(name);
    enqueue(handle->stream, name, [product] { product.compute(); });
    return cudaSuccess;
  });
  if (status == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  return status == cudaErrorInvalidValue ? CUBLAS_STATUS_INVALID_VALUE
                                         : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

/// That of the runtime, which says more.
const char* cublasGetStatusString(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return "success";
  if (status == CUBLAS_STATUS_NOT_INITIALIZED) return "the library was not initialized";
  return cudaGetErrorString(cudaPeekAtLastError());
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

/// CUDA frees its workspace here, and waits for the device.
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return cudaDeviceSynchronize() == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a,
                                            cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                            std::int64_t k, const float* alpha, const float* a,
                                            std::int64_t lda, long long stride_a, const float* b,
                                            std::int64_t ldb, long long stride_b, const float* beta,
                                            float* c, std::int64_t ldc, long long stride_c,
                                            std::int64_t batch) {
  return emulation::enqueue_product<float, float, float>(handle, "cublasSgemmStridedBatched",
                                                         {m,
                                                          n,
                                                          k,
                                                          batch,
                                                          *alpha,
                                                          *beta,
                                                          {a, lda, stride_a, op_a == CUBLAS_OP_T},
                                                          {b, ldb, stride_b, op_b == CUBLAS_OP_T},
                                                          {c, ldc, stride_c, false}});
}

cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a,
                                            cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                            std::int64_t k, const double* alpha, const double* a,
                                            std::int64_t lda, long long stride_a, const double* b,
                                            std::int64_t ldb, long long stride_b,
                                            const double* beta, double* c, std::int64_t ldc,
                                            long long stride_c, std::int64_t batch) {
  return emulation::enqueue_product<double, double, double>(
      handle, "cublasDgemmStridedBatched",
      {m,
       n,
       k,
       batch,
       *alpha,
       *beta,
       {a, lda, stride_a, op_a == CUBLAS_OP_T},
       {b, ldb, stride_b, op_b == CUBLAS_OP_T},
       {c, ldc, stride_c, false}});
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m,
    std::int64_t n, std::int64_t k, const void* alpha, const void* a, cudaDataType_t type_a,
    std::int64_t lda, long long stride_a, const void* b, cudaDataType_t type_b, std::int64_t ldb,
    long long stride_b, const void* beta, void* c, cudaDataType_t type_c, std::int64_t ldc,
    long long stride_c, std::int64_t batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (type_a != CUDA_R_16BF || type_b != CUDA_R_16BF || compute != CUBLAS_COMPUTE_32F) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto call = [&](auto* out) {
    using Out = std::remove_pointer_t<decltype(out)>;
    return emulation::enqueue_product<float, moe::Bf16, Out>(
        handle, "cublasGemmStridedBatchedEx",
        {m,
         n,
         k,
         batch,
         *static_cast<const float*>(alpha),
         *static_cast<const float*>(beta),
         {static_cast<const moe::Bf16*>(a), lda, stride_a, op_a == CUBLAS_OP_T},
         {static_cast<const moe::Bf16*>(b), ldb, stride_b, op_b == CUBLAS_OP_T},
         {out, ldc, stride_c, false}});
  };
  return type_c == CUDA_R_16BF ? call(static_cast<moe::Bf16*>(c)) : call(static_cast<float*>(c));
}
