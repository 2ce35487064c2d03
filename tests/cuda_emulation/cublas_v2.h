#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The part of cuBLAS that moelab uses: products by plain loops, in the type of the computation,
/// from the first term to the last.

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };

struct cublasContext;
using cublasHandle_t = cublasContext*;

const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
/// How many multiprocessors a product is made for, of which there are none here.
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int multiprocessors);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);

/// Column-major: C = alpha op(A) op(B) + beta C, `batch` times. Factors are read from host memory
/// during the call. Where beta is 0, C is not read.
cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a,
                                            cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                            std::int64_t k, const float* alpha, const float* a,
                                            std::int64_t lda, long long stride_a, const float* b,
                                            std::int64_t ldb, long long stride_b, const float* beta,
                                            float* c, std::int64_t ldc, long long stride_c,
                                            std::int64_t batch);
cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a,
                                            cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                            std::int64_t k, const double* alpha, const double* a,
                                            std::int64_t lda, long long stride_a, const double* b,
                                            std::int64_t ldb, long long stride_b,
                                            const double* beta, double* c, std::int64_t ldc,
                                            long long stride_c, std::int64_t batch);
/// Of bf16, added up in float; C in bf16 or float.
cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m,
    std::int64_t n, std::int64_t k, const void* alpha, const void* a, cudaDataType_t type_a,
    std::int64_t lda, long long stride_a, const void* b, cudaDataType_t type_b, std::int64_t ldb,
    long long stride_b, const void* beta, void* c, cudaDataType_t type_c, std::int64_t ldc,
    long long stride_c, std::int64_t batch, cublasComputeType_t compute, cublasGemmAlgo_t algo);

/// `groups` groups of products, those of a group of one size. Addresses are read from the device's
/// memory when the products run, all else from the host's during the call. C has the type of A and
/// B, else CUBLAS_STATUS_NOT_SUPPORTED.
cublasStatus_t cublasGemmGroupedBatchedEx_64(
    cublasHandle_t handle, const cublasOperation_t op_a[], const cublasOperation_t op_b[],
    const std::int64_t m[], const std::int64_t n[], const std::int64_t k[], const void* alpha,
    const void* const a[], cudaDataType_t type_a, const std::int64_t lda[], const void* const b[],
    cudaDataType_t type_b, const std::int64_t ldb[], const void* beta, void* const c[],
    cudaDataType_t type_c, const std::int64_t ldc[], std::int64_t groups,
    const std::int64_t group_size[], cublasComputeType_t compute);
