// Products whose bias is added by cublasLt before they are stored.
#include <cublasLt.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "moe/backend/cuda/gemm.cuh"
#include "moe/backend/cuda_owned.cuh"

namespace moe {
namespace {

using OwnedProduct = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using OwnedLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using OwnedPreference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// The product of what cublasLt calls A and B, which are ours exchanged, with a bias.
template <class In>
OwnedProduct make_product(bool transpose_a, bool transpose_b, const In* bias) {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  OwnedProduct product(made);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(made, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, blas_operation(transpose_a));
  set(CUBLASLT_MATMUL_DESC_TRANSB, blas_operation(transpose_b));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return product;
}

/// A matrix of which op(matrix) has these sizes, column-major.
template <class T>
OwnedLayout make_layout(std::int64_t rows, std::int64_t columns, bool transposed,
                        std::int64_t leading) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(
            &made, blas_type<T>(), static_cast<std::uint64_t>(transposed ? columns : rows),
            static_cast<std::uint64_t>(transposed ? rows : columns), leading),
        "cublasLtMatrixLayoutCreate");
  return OwnedLayout(made);
}

/// The largest power of two, at most 256, that divides the address.
std::uint32_t alignment_of(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address) | 256;
  return std::uint32_t{1} << std::countr_zero(number);
}

OwnedPreference make_preference(std::size_t workspace_bytes, const void* a, const void* b,
                                const void* c) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  OwnedPreference preference(made);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(c));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(c));
  return preference;
}

}  // namespace

/// A handle of cuBLAS is one of cublasLt too. cublasLt remembers which kernel it chose for a
/// product, so the choice is asked for again each time.
template <class In, class Out>
bool gemm_with_bias(DeviceStream& stream, const Gemm<In, Out>& gemm) {
  constexpr bool has_epilogues = std::is_same_v<In, Out> && !std::is_same_v<In, double>;
  if (!has_epilogues || stream.workspace() == nullptr || alignment_of(gemm.bias) < 16) return false;
  const auto handle = reinterpret_cast<cublasLtHandle_t>(stream.blas());
  const OwnedProduct product = make_product(gemm.transpose_b, gemm.transpose_a, gemm.bias);
  const OwnedLayout a = make_layout<In>(gemm.n, gemm.k, gemm.transpose_b, gemm.ldb),
                    b = make_layout<In>(gemm.k, gemm.m, gemm.transpose_a, gemm.lda),
                    c = make_layout<Out>(gemm.n, gemm.m, false, gemm.ldc);
  const OwnedPreference preference =
      make_preference(DeviceStream::kWorkspaceBytes, gemm.b, gemm.a, gemm.c);
  cublasLtMatmulHeuristicResult_t chosen{};
  int found = 0;
  const cublasStatus_t asked =
      cublasLtMatmulAlgoGetHeuristic(handle, product.get(), a.get(), b.get(), c.get(), c.get(),
                                     preference.get(), 1, &chosen, &found);
  if (asked == CUBLAS_STATUS_NOT_SUPPORTED || (asked == CUBLAS_STATUS_SUCCESS && found == 0)) {
    return false;
  }
  check(asked, "cublasLtMatmulAlgoGetHeuristic");
  const float one = 1, zero = 0;
  const cublasStatus_t status = cublasLtMatmul(
      handle, product.get(), &one, gemm.b, a.get(), gemm.a, b.get(), &zero, gemm.c, c.get(), gemm.c,
      c.get(), &chosen.algo, stream.workspace(), DeviceStream::kWorkspaceBytes, stream.get());
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  check(status, "cublasLtMatmul");
  return true;
}

template bool gemm_with_bias(DeviceStream&, const Gemm<float, float>&);
template bool gemm_with_bias(DeviceStream&, const Gemm<double, double>&);
template bool gemm_with_bias(DeviceStream&, const Gemm<Bf16, Bf16>&);
template bool gemm_with_bias(DeviceStream&, const Gemm<Bf16, float>&);

}  // namespace moe
