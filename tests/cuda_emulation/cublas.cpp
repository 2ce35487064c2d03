#include <cublas_v2.h>

#include <cstdint>
#include <type_traits>

#include "moe/kernels/bf16.h"
#include "tests/cuda_emulation/matrix_product.h"

namespace emulation = moelab::cuda_emulation;

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
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

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t, int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a,
                                            cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                            std::int64_t k, const float* alpha, const float* a,
                                            std::int64_t lda, long long stride_a, const float* b,
                                            std::int64_t ldb, long long stride_b, const float* beta,
                                            float* c, std::int64_t ldc, long long stride_c,
                                            std::int64_t batch) {
  return emulation::enqueue_product<float, float, float>(handle->stream,
                                                         "cublasSgemmStridedBatched",
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
      handle->stream, "cublasDgemmStridedBatched",
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
        handle->stream, "cublasGemmStridedBatchedEx",
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
