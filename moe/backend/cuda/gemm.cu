// Matrix products on a device, by cuBLAS.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "moe/backend/cuda/gemm.cuh"
#include "moe/backend/cuda_exec.cuh"

namespace moe {
namespace {

template <class In, class Out>
void multiply(DeviceStream& stream, const Gemm<In, Out>& gemm, bool accumulate) {
  const Wide<In> one = 1, beta = accumulate ? 1 : 0;
  const cublasOperation_t op_a = blas_operation(gemm.transpose_a),
                          op_b = blas_operation(gemm.transpose_b);
  if constexpr (std::is_same_v<In, Bf16>) {
    check(cublasGemmStridedBatchedEx_64(stream.blas(), op_b, op_a, gemm.n, gemm.m, gemm.k, &one,
                                        gemm.b, CUDA_R_16BF, gemm.ldb, gemm.stride_b, gemm.a,
                                        CUDA_R_16BF, gemm.lda, gemm.stride_a, &beta, gemm.c,
                                        blas_type<Out>(), gemm.ldc, gemm.stride_c, gemm.batch,
                                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
  } else {
    const auto call = [&](auto function, const char* name) {
      check(function(stream.blas(), op_b, op_a, gemm.n, gemm.m, gemm.k, &one, gemm.b, gemm.ldb,
                     gemm.stride_b, gemm.a, gemm.lda, gemm.stride_a, &beta, gemm.c, gemm.ldc,
                     gemm.stride_c, gemm.batch),
            name);
    };
    if constexpr (std::is_same_v<In, double>) {
      call(cublasDgemmStridedBatched_64, "cublasDgemmStridedBatched");
    } else {
      call(cublasSgemmStridedBatched_64, "cublasSgemmStridedBatched");
    }
  }
}

/// FillRowsBody for the rows of several products, one after the other. Every C has n columns.
template <class In, class Out>
struct FillGroupBody {
  Out* c[kMostGrouped];
  const In* bias[kMostGrouped];
  std::int64_t ends[kMostGrouped];  ///< the number of the row after the last of each product
  int products = 0;
  std::int64_t ldc, n;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    int product = 0;
    for (int above = products - 1; product < above;) {
      const int middle = (product + above) / 2;
      if (row < ends[middle]) {
        above = middle;
      } else {
        product = middle + 1;
      }
    }
    const std::int64_t begin = product == 0 ? 0 : ends[product - 1];
    FillRowsBody<In, Out>{c[product], ldc, n, bias[product]}(team, row - begin);
  }
};

/// Sets C of the products that have a bias to it, and makes them products that are added to C.
template <class In, class Out>
void fill_biases(CudaExec& exec, std::span<Gemm<In, Out>> gemms) {
  FillGroupBody<In, Out> body{};
  body.ldc = gemms.front().ldc;
  body.n = gemms.front().n;
  std::int64_t rows = 0;
  for (Gemm<In, Out>& gemm : gemms) {
    if (gemm.bias == nullptr) continue;
    rows += gemm.m;
    body.c[body.products] = gemm.c;
    body.bias[body.products] = gemm.bias;
    body.ends[body.products++] = rows;
    gemm.bias = nullptr;
    gemm.accumulate = true;
  }
  exec.rows(rows, body.n, body);
}

/// The products as a batch, where they are of one size and evenly spaced.
template <class In, class Out>
std::optional<Gemm<In, Out>> as_batch(std::span<const Gemm<In, Out>> gemms) {
  Gemm<In, Out> batch = gemms.front();
  batch.batch = static_cast<std::int64_t>(gemms.size());
  batch.stride_a = gemms[1].a - batch.a;
  batch.stride_b = gemms[1].b - batch.b;
  batch.stride_c = gemms[1].c - batch.c;
  if (batch.bias != nullptr && gemms[1].bias != nullptr) {
    batch.stride_bias = gemms[1].bias - batch.bias;
  }
  if (batch.stride_a < 0 || batch.stride_b < 0 || batch.stride_c <= 0) return std::nullopt;
  for (std::size_t i = 1; i < gemms.size(); ++i) {
    const Gemm<In, Out>& one = gemms[i];
    const auto place = static_cast<std::int64_t>(i);
    const bool fits =
        one.m == batch.m && one.n == batch.n && one.k == batch.k && one.lda == batch.lda &&
        one.ldb == batch.ldb && one.ldc == batch.ldc && one.transpose_a == batch.transpose_a &&
        one.transpose_b == batch.transpose_b && one.accumulate == batch.accumulate &&
        (one.bias == nullptr) == (batch.bias == nullptr) &&
        (one.bias == nullptr || one.bias - batch.bias == place * batch.stride_bias) &&
        one.a - batch.a == place * batch.stride_a && one.b - batch.b == place * batch.stride_b &&
        one.c - batch.c == place * batch.stride_c;
    if (!fits) return std::nullopt;
  }
  return batch;
}

/// The way that was chosen for small products of one kind.
template <class In, class Out>
GroupWay way_of_group(DeviceStream& stream, std::span<const Gemm<In, Out>> gemms) {
  if (stream.ways().empty()) return GroupWay::together;
  Product product = product_of(gemms.front());
  std::int64_t tokens = 0;
  for (const Gemm<In, Out>& one : gemms) tokens += tokens_of(product_of(one));
  const auto count = static_cast<std::int64_t>(gemms.size());
  product = with_tokens(product, tokens / count);
  product.grouped = true;
  product.batch = count;
  const ProductWay* const way = way_of(stream.ways().all(), product);
  if (way == nullptr) return GroupWay::together;
  const auto* const named = std::ranges::find(kGroupWayNames, way->algorithm);
  return named == std::end(kGroupWayNames) ? GroupWay::together
                                           : static_cast<GroupWay>(named - kGroupWayNames);
}

}  // namespace

bool occupies(const DeviceStream& stream, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t tile = 128 * 256;  // of C, which a multiprocessor computes at a time
  return m * n >= stream.multiprocessors() * tile / 2;
}

template <class In, class Out>
void small_gemms(DeviceStream& stream, std::span<Gemm<In, Out>> gemms, GroupWay way) {
  CudaExec exec(stream);
  switch (way) {
    case GroupWay::one_by_one:
      for (const Gemm<In, Out>& one : gemms) exec.gemm(one);
      return;
    case GroupWay::side_by_side:
      stream.side_by_side(gemms.size(),
                          [&](DeviceStream& on, std::size_t i) { CudaExec(on).gemm(gemms[i]); });
      return;
    case GroupWay::together:
      fill_biases(exec, gemms);
      if (grouped_gemm(stream, std::span<const Gemm<In, Out>>(gemms))) return;
      for (const Gemm<In, Out>& one : gemms) multiply(stream, one, one.accumulate);
      return;
  }
}

template <class In, class Out>
void CudaExec::gemm(const Gemm<In, Out>& gemm) {
  if (gemm.m == 0 || gemm.n == 0) return;
  if (gemm.k > 0 && gemm_by_lt(device_stream_, gemm)) return;
  bool accumulate = gemm.accumulate;
  if (gemm.bias != nullptr || (gemm.k == 0 && !accumulate)) {
    rows(gemm.m, gemm.n, FillRowsBody<In, Out>{gemm.c, gemm.ldc, gemm.n, gemm.bias});
    accumulate = true;
  }
  if (gemm.k > 0) multiply(device_stream_, gemm, accumulate);
}

/// One batch where sizes allow. Else large products one by one, and the others as was chosen, or in
/// one grouped call where cuBLAS has it.
template <class In, class Out>
void CudaExec::gemms(std::span<const Gemm<In, Out>> gemms) {
  std::vector<Gemm<In, Out>> products;
  for (const Gemm<In, Out>& one : gemms) {
    if (one.m == 0 || one.n == 0) continue;
    if (one.k == 0) {
      gemm(one);
    } else {
      products.push_back(one);
    }
  }
  for (std::span<Gemm<In, Out>> left = products; !left.empty();) {
    const auto some = left.first(std::min(left.size(), kMostGrouped));
    left = left.subspan(some.size());
    if (some.size() > 1) {
      if (const auto batch = as_batch(std::span<const Gemm<In, Out>>(some))) {
        if (gemm_by_lt(device_stream_, *batch)) continue;
        fill_biases(*this, some);
        multiply(device_stream_, *batch, some.front().accumulate);
        continue;
      }
    }
    const auto group = std::ranges::stable_partition(
        some, [&](const Gemm<In, Out>& one) { return occupies(device_stream_, one.m, one.n); });
    const std::span<Gemm<In, Out>> small(group.begin(), group.end());
    const auto alone = small.size() == 1 ? some : some.first(some.size() - small.size());
    for (const Gemm<In, Out>& one : alone) gemm(one);
    if (small.size() < 2) continue;
    small_gemms(device_stream_, small,
                way_of_group(device_stream_, std::span<const Gemm<In, Out>>(small)));
  }
}

template void small_gemms(DeviceStream&, std::span<Gemm<float, float>>, GroupWay);
template void small_gemms(DeviceStream&, std::span<Gemm<Bf16, Bf16>>, GroupWay);
template void small_gemms(DeviceStream&, std::span<Gemm<Bf16, float>>, GroupWay);
template void CudaExec::gemm(const Gemm<float, float>&);
template void CudaExec::gemm(const Gemm<double, double>&);
template void CudaExec::gemm(const Gemm<Bf16, Bf16>&);
template void CudaExec::gemm(const Gemm<Bf16, float>&);
template void CudaExec::gemms(std::span<const Gemm<float, float>>);
template void CudaExec::gemms(std::span<const Gemm<double, double>>);
template void CudaExec::gemms(std::span<const Gemm<Bf16, Bf16>>);
template void CudaExec::gemms(std::span<const Gemm<Bf16, float>>);

}  // namespace moe
