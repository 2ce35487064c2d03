// Products by cublasLt, which has a choice of kernels and adds a bias before C is stored.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "moe/backend/cuda/gemm.cuh"
#include "moe/backend/cuda_owned.cuh"

namespace moe {
namespace {

using OwnedProduct = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using OwnedLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using OwnedPreference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// The largest power of two, at most 256, that divides the addresses of matrices `stride` apart.
template <class T>
std::uint32_t alignment_of(const T* first, std::int64_t stride) {
  const auto apart = static_cast<std::uintptr_t>(stride) * sizeof(T);
  const auto number = reinterpret_cast<std::uintptr_t>(first) | apart | 256;
  return std::uint32_t{1} << std::countr_zero(number);
}

/// What cublasLt calls A and B are ours exchanged.
template <class In, class Out>
OwnedProduct make_product(const Gemm<In, Out>& gemm) {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  OwnedProduct product(made);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(made, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, blas_operation(gemm.transpose_b));
  set(CUBLASLT_MATMUL_DESC_TRANSB, blas_operation(gemm.transpose_a));
  if (gemm.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
    if (gemm.batch > 1) set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, gemm.stride_bias);
  }
  return product;
}

/// A matrix of which op(matrix) has these sizes, column-major; or several, `stride` apart.
template <class T>
OwnedLayout make_layout(std::int64_t rows, std::int64_t columns, bool transposed,
                        std::int64_t leading, std::int64_t batch, std::int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(
            &made, blas_type<T>(), static_cast<std::uint64_t>(transposed ? columns : rows),
            static_cast<std::uint64_t>(transposed ? rows : columns), leading),
        "cublasLtMatrixLayoutCreate");
  OwnedLayout layout(made);
  if (batch == 1) return layout;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    check(cublasLtMatrixLayoutSetAttribute(made, attribute, &value, sizeof value),
          "cublasLtMatrixLayoutSetAttribute");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

/// A product as cublasLt describes it.
struct LtProduct {
  OwnedProduct product;
  OwnedLayout a, b, c;
};

template <class In, class Out>
LtProduct lt_product(const Gemm<In, Out>& gemm) {
  return {make_product(gemm),
          make_layout<In>(gemm.n, gemm.k, gemm.transpose_b, gemm.ldb, gemm.batch, gemm.stride_b),
          make_layout<In>(gemm.k, gemm.m, gemm.transpose_a, gemm.lda, gemm.batch, gemm.stride_a),
          make_layout<Out>(gemm.n, gemm.m, false, gemm.ldc, gemm.batch, gemm.stride_c)};
}

OwnedPreference make_preference(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  OwnedPreference preference(made);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, DeviceStream::kWorkspaceBytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
  return preference;
}

/// A handle of cuBLAS is one of cublasLt too.
cublasLtHandle_t handle_of(DeviceStream& stream) {
  return reinterpret_cast<cublasLtHandle_t>(stream.blas());
}

std::vector<Algorithm> algorithms(DeviceStream& stream, const LtProduct& lt,
                                  const OwnedPreference& preference, int most) {
  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results{};
  int found = 0;
  const cublasStatus_t asked = cublasLtMatmulAlgoGetHeuristic(
      handle_of(stream), lt.product.get(), lt.a.get(), lt.b.get(), lt.c.get(), lt.c.get(),
      preference.get(), std::min(most, kMostAlgorithms), results.data(), &found);
  if (asked == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(asked, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<Algorithm> ways;
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& one = results[static_cast<std::size_t>(i)];
    if (one.state == CUBLAS_STATUS_SUCCESS) ways.push_back(Algorithm{one.algo});
  }
  return ways;
}

template <class In, class Out>
cublasStatus_t multiply(DeviceStream& stream, const LtProduct& lt, const Gemm<In, Out>& gemm,
                        const cublasLtMatmulAlgo_t& algorithm) {
  const float one = 1, beta = gemm.accumulate ? 1 : 0;
  return cublasLtMatmul(handle_of(stream), lt.product.get(), &one, gemm.b, lt.a.get(), gemm.a,
                        lt.b.get(), &beta, gemm.c, lt.c.get(), gemm.c, lt.c.get(), &algorithm,
                        stream.workspace(), DeviceStream::kWorkspaceBytes, stream.get());
}

/// Whether the product is one for which a way may have been chosen.
template <class In, class Out>
bool may_have_way(const Gemm<In, Out>& gemm) {
  return gemm.lda == (gemm.transpose_a ? gemm.m : gemm.k) &&
         gemm.ldb == (gemm.transpose_b ? gemm.k : gemm.n) && gemm.ldc == gemm.n &&
         alignment_of(gemm.a, gemm.stride_a) >= kWayAlignment &&
         alignment_of(gemm.b, gemm.stride_b) >= kWayAlignment &&
         alignment_of(gemm.c, gemm.stride_c) >= kWayAlignment;
}

/// Epilogues write what they read.
template <class In, class Out>
constexpr bool kHasEpilogues = std::is_same_v<In, Out>;

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm) {
  unsigned char bytes[sizeof algorithm];
  std::memcpy(bytes, &algorithm, sizeof bytes);
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::optional<cublasLtMatmulAlgo_t> algorithm_of(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm;
  unsigned char bytes[sizeof algorithm];
  if (text.size() != 2 * sizeof bytes) return std::nullopt;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    const std::size_t high = kDigits.find(text[2 * i]), low = kDigits.find(text[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
    bytes[i] = static_cast<unsigned char>(16 * high + low);
  }
  std::memcpy(&algorithm, bytes, sizeof bytes);
  return algorithm;
}

/// cublasLt remembers which kernel it chose for a product, so its own choice is asked for again
/// each time.
template <class In, class Out>
bool gemm_by_lt(DeviceStream& stream, const Gemm<In, Out>& gemm) {
  if constexpr (std::is_same_v<In, double>) {
    return false;
  } else {
    const bool biased = gemm.bias != nullptr;
    const bool has_bias =
        kHasEpilogues<In, Out> && alignment_of(gemm.bias, gemm.stride_bias) >= kWayAlignment;
    const bool chosen = !stream.ways().empty() && may_have_way(gemm);
    if (stream.workspace() == nullptr || (biased ? !has_bias : !chosen)) return false;
    const auto can = [&](const cublasLtMatmulAlgo_t& algorithm) {
      const LtProduct lt = lt_product(gemm);
      cublasLtMatmulHeuristicResult_t result{};
      return cublasLtMatmulAlgoCheck(handle_of(stream), lt.product.get(), lt.a.get(), lt.b.get(),
                                     lt.c.get(), lt.c.get(), &algorithm,
                                     &result) == CUBLAS_STATUS_SUCCESS &&
             result.workspaceSize <= DeviceStream::kWorkspaceBytes;
    };
    const auto* const way = chosen ? stream.ways().at(product_of(gemm), can) : nullptr;
    if (way == nullptr && !biased) return false;
    const LtProduct lt = lt_product(gemm);
    if (way != nullptr) {
      const cublasStatus_t status = multiply(stream, lt, gemm, *way);
      if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
        check(status, "cublasLtMatmul");
        return true;
      }
      if (!biased) return false;
    }
    const auto own = algorithms(
        stream, lt,
        make_preference(alignment_of(gemm.b, gemm.stride_b), alignment_of(gemm.a, gemm.stride_a),
                        alignment_of(gemm.c, gemm.stride_c)),
        1);
    if (own.empty()) return false;
    const cublasStatus_t status = multiply(stream, lt, gemm, own.front());
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    check(status, "cublasLtMatmul");
    return true;
  }
}

template <class In, class Out>
void gemm_by_lt(DeviceStream& stream, const Gemm<In, Out>& gemm,
                const cublasLtMatmulAlgo_t& algorithm) {
  check(multiply(stream, lt_product(gemm), gemm, algorithm), "cublasLtMatmul");
}

template <class In, class Out>
std::vector<Algorithm> algorithms_of_lt(DeviceStream& stream, const Gemm<In, Out>& gemm, int most) {
  return algorithms(stream, lt_product(gemm),
                    make_preference(kWayAlignment, kWayAlignment, kWayAlignment), most);
}

template bool gemm_by_lt(DeviceStream&, const Gemm<float, float>&);
template bool gemm_by_lt(DeviceStream&, const Gemm<double, double>&);
template bool gemm_by_lt(DeviceStream&, const Gemm<Bf16, Bf16>&);
template bool gemm_by_lt(DeviceStream&, const Gemm<Bf16, float>&);
template void gemm_by_lt(DeviceStream&, const Gemm<float, float>&, const cublasLtMatmulAlgo_t&);
template void gemm_by_lt(DeviceStream&, const Gemm<Bf16, Bf16>&, const cublasLtMatmulAlgo_t&);
template void gemm_by_lt(DeviceStream&, const Gemm<Bf16, float>&, const cublasLtMatmulAlgo_t&);
template std::vector<Algorithm> algorithms_of_lt(DeviceStream&, const Gemm<float, float>&, int);
template std::vector<Algorithm> algorithms_of_lt(DeviceStream&, const Gemm<Bf16, Bf16>&, int);
template std::vector<Algorithm> algorithms_of_lt(DeviceStream&, const Gemm<Bf16, float>&, int);

}  // namespace moe
