#include <cublasLt.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "moe/kernels/bf16.h"
#include "tests/cuda_emulation/matrix_product.h"

struct cublasLtMatmulDescOpaque_t {
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int64_t bias_stride = 0;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  std::int64_t rows, columns, leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {
  std::size_t workspace_bytes = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace moelab::cuda_emulation {
namespace {

template <class T>
cublasStatus_t set_attribute(T& target, const void* value, std::size_t bytes) {
  if (bytes != sizeof target) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&target, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// The sizes of op(A) op(B), where they fit.
bool sizes_fit(const cublasLtMatmulDescOpaque_t& product, const cublasLtMatrixLayoutOpaque_t& a,
               const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& d) {
  const bool turns_a = product.op_a == CUBLAS_OP_T, turns_b = product.op_b == CUBLAS_OP_T;
  return (turns_a ? a.columns : a.rows) == d.rows && (turns_b ? b.rows : b.columns) == d.columns &&
         (turns_a ? a.rows : a.columns) == (turns_b ? b.columns : b.rows) && a.batch == d.batch &&
         b.batch == d.batch;
}

/// CUBLAS_STATUS_SUCCESS where there are kernels.
cublasStatus_t is_supported(const cublasLtMatmulDescOpaque_t& product,
                            const cublasLtMatrixLayoutOpaque_t& a,
                            const cublasLtMatrixLayoutOpaque_t& b,
                            const cublasLtMatrixLayoutOpaque_t& c,
                            const cublasLtMatrixLayoutOpaque_t& d) {
  if (!sizes_fit(product, a, b, d)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_bf16 = a.type == CUDA_R_16BF;
  const bool widens =
      is_bf16 && d.type == CUDA_R_32F && product.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (a.type != b.type || c.type != d.type || (a.type != d.type && !widens) ||
      (a.type != CUDA_R_32F && !is_bf16)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool odd = a.leading % 2 != 0 || b.leading % 2 != 0 || d.leading % 2 != 0;
  return is_bf16 && odd ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

void check_alignments(const cublasLtMatmulAlgo_t& algo, const void* a, const void* b,
                      const void* d) {
  const void* const addresses[] = {a, b, d, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(addresses[i]) % algo.alignments[i] != 0) {
      throw std::invalid_argument("cublasLtMatmul: the kernel was chosen for matrices aligned to " +
                                  std::to_string(algo.alignments[i]) + " bytes");
    }
  }
}

template <class In, class Out>
Product<float, In, Out> product_of(const cublasLtMatmulDescOpaque_t& product, const void* alpha,
                                   const void* a, const cublasLtMatrixLayoutOpaque_t& layout_a,
                                   const void* b, const cublasLtMatrixLayoutOpaque_t& layout_b,
                                   const void* beta, void* d,
                                   const cublasLtMatrixLayoutOpaque_t& layout_d) {
  const bool turns_a = product.op_a == CUBLAS_OP_T, turns_b = product.op_b == CUBLAS_OP_T;
  const bool biased = product.epilogue == CUBLASLT_EPILOGUE_BIAS;
  return {layout_d.rows,
          layout_d.columns,
          turns_a ? layout_a.rows : layout_a.columns,
          layout_d.batch,
          *static_cast<const float*>(alpha),
          *static_cast<const float*>(beta),
          {static_cast<const In*>(a), layout_a.leading, layout_a.stride, turns_a},
          {static_cast<const In*>(b), layout_b.leading, layout_b.stride, turns_b},
          {static_cast<Out*>(d), layout_d.leading, layout_d.stride, false},
          biased ? static_cast<const Out*>(product.bias) : nullptr,
          product.bias_stride};
}

}  // namespace
}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;

std::size_t cublasLtGetVersion() { return 0; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  *product = new cublasLtMatmulDescOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return emulation::set_attribute(product->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return emulation::set_attribute(product->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return emulation::set_attribute(product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return emulation::set_attribute(product->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return emulation::set_attribute(product->bias_stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  if (rows == 0 || columns == 0 || leading < static_cast<std::int64_t>(rows)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *layout = new cublasLtMatrixLayoutOpaque_t{type, static_cast<std::int64_t>(rows),
                                             static_cast<std::int64_t>(columns), leading};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return emulation::set_attribute(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return emulation::set_attribute(layout->stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    return emulation::set_attribute(preference->workspace_bytes, value, bytes);
  }
  const int place = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (place < 0 || place > 3) return CUBLAS_STATUS_INVALID_VALUE;
  return emulation::set_attribute(preference->alignments[place], value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = 0;
  if (requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasStatus_t status = emulation::is_supported(*product, *a, *b, *c, *d);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  for (; *found < std::min(requested, kEmulatedKernels); ++*found) {
    cublasLtMatmulHeuristicResult_t& one = results[*found];
    one = {{preference->workspace_bytes, {}, static_cast<std::uint64_t>(*found)},
           preference->workspace_bytes,
           CUBLAS_STATUS_SUCCESS};
    std::memcpy(one.algo.alignments, preference->alignments, sizeof one.algo.alignments);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algo->number >= kEmulatedKernels) return CUBLAS_STATUS_INVALID_VALUE;
  result->workspaceSize = algo->workspace_bytes;
  return emulation::is_supported(*product, *a, *b, *c, *d);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a,
                              const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,
                              const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status =
      emulation::is_supported(*product, *layout_a, *layout_b, *layout_c, *layout_d);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (c != d || layout_c->leading != layout_d->leading || workspace_bytes < algo->workspace_bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto call = [&]<class In, class Out>(In, Out) {
    constexpr const char* kName = "cublasLtMatmul";
    auto whole = emulation::product_of<In, Out>(*product, alpha, a, *layout_a, b, *layout_b, beta,
                                                d, *layout_d);
    whole.parts = static_cast<std::int64_t>(algo->number) + 1;
    const std::uint64_t number = algo->number;
    return emulation::enqueue_checked(
        stream, kName,
        [&] {
          emulation::check_alignments(*algo, a, b, d);
          emulation::check_device_pointer(workspace, workspace_bytes, kName);
          whole.check(kName);
        },
        [whole, number] {
          whole.compute();
          emulation::linger(number);
        });
  };
  if (layout_a->type == CUDA_R_32F) return call(float{}, float{});
  return layout_d->type == CUDA_R_32F ? call(moe::Bf16{}, float{}) : call(moe::Bf16{}, moe::Bf16{});
}
