#pragma once

#include <algorithm>

#include "moe/backend/cuda_launch.cuh"
#include "moe/backend/cuda_stream.cuh"
#include "moe/backend/device_team.cuh"
#include "moe/kernels/bf16.h"
#include "moe/kernels/column_sums.h"
#include "moe/kernels/gemm.h"
#include "moe/ops/attention.h"

namespace moe {

inline constexpr int kBlockThreads = 256;
/// Rows up to this width are computed by a warp, wider rows by a block. Only the width decides, so
/// that the order of a row's sums does not depend on the number of rows.
inline constexpr std::int64_t kWarpWidth = 1024;
/// Columns and rows of the tile that one block of column_sums reads at once.
inline constexpr int kTileColumns = 32, kTileRows = 16;

template <int threads, class F>
__global__ void __launch_bounds__(kBlockThreads) rows_kernel(std::int64_t count, F f) {
  constexpr int teams = kBlockThreads / threads;
  DeviceTeam<threads> team;
  const std::int64_t first = std::int64_t{blockIdx.x} * teams + threadIdx.x / threads;
  for (std::int64_t row = first; row < count; row += std::int64_t{gridDim.x} * teams) {
    f(team, row);
  }
}

template <class F>
__global__ void __launch_bounds__(kBlockThreads) elements_kernel(std::int64_t count, F f) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kBlockThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlockThreads + threadIdx.x; i < count;
       i += stride) {
    f(i);
  }
}

/// A block per 32 columns. Each of its rows of threads sums every 16th row of the matrix; then the
/// partial sums are added in order.
template <class Terms, class Real, int count>
__global__ void __launch_bounds__(kTileColumns* kTileRows)
    column_sums_kernel(std::int64_t rows, std::int64_t width, Terms terms,
                       SumTargets<Real, count> targets) {
  __shared__ Real partial[count][kTileRows][kTileColumns];
  const std::int64_t column = std::int64_t{blockIdx.x} * kTileColumns + threadIdx.x;
  Real sums[count] = {};
  if (column < width) {
    for (std::int64_t row = threadIdx.y; row < rows; row += kTileRows) {
      const Sums<Real, count> term = terms(row, column);
      for (int which = 0; which < count; ++which) sums[which] += term.value[which];
    }
  }
  for (int which = 0; which < count; ++which) {
    partial[which][threadIdx.y][threadIdx.x] = sums[which];
  }
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
  for (int which = 0; which < count; ++which) {
    Real sum = 0;
    for (int row = 0; row < kTileRows; ++row) sum += partial[which][row][threadIdx.x];
    targets.store(which, column, sum);
  }
}

/// The executor that enqueues on one CUDA stream; kernels/execute.h lists its functions.
class CudaExec {
 public:
  static constexpr std::int64_t kQueryBlock = kGpuQueryBlock;

  explicit CudaExec(DeviceStream& stream) : device_stream_(stream), stream_(stream.get()) {}

  template <class F>
  void rows(std::int64_t count, std::int64_t width, F f) {
    if (count == 0) return;
    if (width <= kWarpWidth) {
      launch_kernel("rows_kernel", rows_kernel<32, F>, blocks(count, kBlockThreads / 32),
                    kBlockThreads, stream_, count, f);
    } else {
      launch_kernel("rows_kernel", rows_kernel<kBlockThreads, F>, blocks(count, 1), kBlockThreads,
                    stream_, count, f);
    }
  }

  template <class F>
  void elements(std::int64_t count, F f) {
    if (count == 0) return;
    launch_kernel("elements_kernel", elements_kernel<F>, blocks(count, kBlockThreads),
                  kBlockThreads, stream_, count, f);
  }

  template <class Terms, class Real, int count>
  void column_sums(std::int64_t rows, std::int64_t width, Terms terms,
                   SumTargets<Real, count> targets) {
    if (width == 0) return;
    const auto grid = static_cast<unsigned>((width + kTileColumns - 1) / kTileColumns);
    launch_kernel("column_sums_kernel", column_sums_kernel<Terms, Real, count>, grid,
                  dim3(kTileColumns, kTileRows), stream_, rows, width, terms, targets);
  }

  /// cuBLAS is column-major: it computes C^T = op(B)^T op(A)^T on the same memory.
  template <class In, class Out>
  void gemm(const Gemm<In, Out>& gemm) {
    if (gemm.m == 0 || gemm.n == 0) return;
    bool accumulate = gemm.accumulate;
    if (gemm.bias != nullptr || (gemm.k == 0 && !accumulate)) {
      rows(gemm.m, gemm.n, FillRowsBody<In, Out>{gemm.c, gemm.ldc, gemm.n, gemm.bias});
      accumulate = true;
    }
    if (gemm.k == 0) return;
    multiply(gemm, accumulate);
  }

  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
          "cudaMemcpyAsync between device and host");
  }

  /// One call with all batches, since the device has room for them.
  template <class F>
  void batches(std::int64_t count, F f) {
    f(*this, std::int64_t{0}, count);
  }

 private:
  template <class In, class Out>
  void multiply(const Gemm<In, Out>& gemm, bool accumulate) {
    const Wide<In> one = 1, beta = accumulate ? 1 : 0;
    const cublasOperation_t op_a = gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                            op_b = gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    if constexpr (std::is_same_v<In, Bf16>) {
      check(cublasGemmStridedBatchedEx_64(
                device_stream_.blas(), op_b, op_a, gemm.n, gemm.m, gemm.k, &one, gemm.b,
                CUDA_R_16BF, gemm.ldb, gemm.stride_b, gemm.a, CUDA_R_16BF, gemm.lda, gemm.stride_a,
                &beta, gemm.c, std::is_same_v<Out, Bf16> ? CUDA_R_16BF : CUDA_R_32F, gemm.ldc,
                gemm.stride_c, gemm.batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            "cublasGemmStridedBatchedEx");
    } else {
      const auto call = [&](auto function, const char* name) {
        check(function(device_stream_.blas(), op_b, op_a, gemm.n, gemm.m, gemm.k, &one, gemm.b,
                       gemm.ldb, gemm.stride_b, gemm.a, gemm.lda, gemm.stride_a, &beta, gemm.c,
                       gemm.ldc, gemm.stride_c, gemm.batch),
              name);
      };
      if constexpr (std::is_same_v<In, double>) {
        call(cublasDgemmStridedBatched_64, "cublasDgemmStridedBatched");
      } else {
        call(cublasSgemmStridedBatched_64, "cublasSgemmStridedBatched");
      }
    }
  }

  /// As many blocks as fill any device; the kernels loop over the rest.
  static unsigned blocks(std::int64_t count, std::int64_t per_block) {
    return static_cast<unsigned>(
        std::min<std::int64_t>((count + per_block - 1) / per_block, 1 << 16));
  }

  DeviceStream& device_stream_;
  cudaStream_t stream_;
};

}  // namespace moe
