#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "moe/backend/cuda_launch.cuh"
#include "moe/backend/cuda_pack.cuh"
#include "moe/backend/cuda_registers.cuh"
#include "moe/backend/cuda_stream.cuh"
#include "moe/backend/device_team.cuh"
#include "moe/kernels/bf16.h"
#include "moe/kernels/bound_op.h"
#include "moe/kernels/column_sums.h"
#include "moe/kernels/embed.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/initial_values.h"
#include "moe/ops/attention.h"

namespace moe {

inline constexpr int kBlockThreads = 256, kMostThreads = 512;
/// Rows up to this width are computed by a warp, wider rows by a block. Only the width decides, so
/// that the order of a row's sums does not depend on the number of rows.
inline constexpr std::int64_t kWarpWidth = 1024;
/// Matrices up to this width are summed up in narrow tiles, so that they too occupy many blocks.
/// Only the width decides, as with rows.
inline constexpr std::int64_t kNarrowWidth = 2048;

template <int threads, int block, class F>
__global__ void __launch_bounds__(block, least_blocks<F>(block))
    rows_kernel(std::int64_t count, F f) {
  constexpr int teams = block / threads;
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

template <class Out, class F, class... In>
__global__ void __launch_bounds__(kBlockThreads, least_blocks<F>(kBlockThreads))
    map_kernel(std::int64_t count, Out* out, F f, const In*... in) {
  map_elements(count, std::int64_t{blockIdx.x} * kBlockThreads + threadIdx.x,
               std::int64_t{gridDim.x} * kBlockThreads, out, f, in...);
}

/// A block per `tile_columns` columns. Each of its `tile_rows` rows of threads sums every
/// tile_rows-th row of the matrix; then the partial sums are added in order.
template <int tile_columns, int tile_rows, class Terms, class Real, int count>
__device__ void sum_columns(std::int64_t rows, std::int64_t width, const Terms& terms,
                            const SumTargets<Real, count>& targets) {
  __shared__ Real partial[count][tile_rows][tile_columns];
  const std::int64_t column = std::int64_t{blockIdx.x} * tile_columns + threadIdx.x;
  Real sums[count] = {};
  if (column < width) {
    for (std::int64_t row = threadIdx.y; row < rows; row += tile_rows) {
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
    for (int row = 0; row < tile_rows; ++row) sum += partial[which][row][threadIdx.x];
    targets.store(which, column, sum);
  }
}

template <int tile_columns, int tile_rows, class Terms, class Real, int count>
__global__ void __launch_bounds__(tile_columns* tile_rows)
    column_sums_kernel(std::int64_t rows, std::int64_t width, Terms terms,
                       SumTargets<Real, count> targets) {
  sum_columns<tile_columns, tile_rows>(rows, width, terms, targets);
}

/// The ranges of rows that one launch sums up each on its own.
struct RowGroups {
  static constexpr std::size_t kMost = 128;
  RowRange ranges[kMost];
};

/// As column_sums_kernel, with a row of blocks for each group.
template <int tile_columns, int tile_rows, class Stored>
__global__ void __launch_bounds__(tile_columns* tile_rows)
    group_sums_kernel(RowGroups groups, std::int64_t width, const Stored* in, Wide<Stored>* out,
                      bool accumulate) {
  const RowRange range = groups.ranges[blockIdx.y];
  sum_columns<tile_columns, tile_rows>(
      range.rows, width, ElementTerms<Stored>{in + range.begin * width, width},
      SumTargets<Wide<Stored>, 1>{{out + blockIdx.y * width}, accumulate});
}

/// The executor that enqueues on one CUDA stream; kernels/execute.h lists its functions.
class CudaExec {
 public:
  static constexpr AttentionTile kAttentionTile = kGpuAttentionTile;
  static constexpr TokenTableTile kTokenTableTile{64, 8};
  static constexpr std::int64_t kSlotTile = 1024;

  explicit CudaExec(DeviceStream& stream) : device_stream_(stream), stream_(stream.get()) {}

  template <class F>
  void rows(std::int64_t count, std::int64_t width, F f) {
    if (count == 0) return;
    if constexpr (requires { F::kWideRows; }) {
      in_teams<kBlockThreads, kBlockThreads>(count, f);
    } else if (width <= kWarpWidth) {
      in_teams<32, kBlockThreads>(count, f);
    } else if constexpr (requires { F::kFewLongRows; }) {
      in_teams<kMostThreads, kMostThreads>(count, f);
    } else {
      in_teams<kBlockThreads, kBlockThreads>(count, f);
    }
  }

  template <class F>
  void elements(std::int64_t count, F f) {
    if (count == 0) return;
    launch_kernel("elements_kernel", elements_kernel<F>, blocks(count, kBlockThreads),
                  kBlockThreads, stream_, count, f);
  }

  template <class Out, class F, class... In>
  void map(std::int64_t count, Out* out, F f, const In*... in) {
    if (count == 0) return;
    const std::int64_t packs = (count + kPackWidth<Out, In...> - 1) / kPackWidth<Out, In...>;
    launch_kernel("map_kernel", map_kernel<Out, F, In...>, blocks(packs, kBlockThreads),
                  kBlockThreads, stream_, count, out, f, in...);
  }

  template <class Terms, class Real, int count>
  void column_sums(std::int64_t rows, std::int64_t width, Terms terms,
                   SumTargets<Real, count> targets) {
    if (width == 0) return;
    if (width <= kNarrowWidth) {
      column_sums_in_tiles<8, 64>(rows, width, terms, targets);
    } else {
      column_sums_in_tiles<32, 16>(rows, width, terms, targets);
    }
  }

  template <class Stored>
  void column_sums_of_groups(const Stored* in, std::span<const RowRange> groups, std::int64_t width,
                             Wide<Stored>* out, bool accumulate) {
    for (; !groups.empty() && width > 0; out += RowGroups::kMost * width) {
      const auto some = groups.first(std::min(groups.size(), RowGroups::kMost));
      groups = groups.subspan(some.size());
      if (width <= kNarrowWidth) {
        group_sums_in_tiles<8, 64>(some, width, in, out, accumulate);
      } else {
        group_sums_in_tiles<32, 16>(some, width, in, out, accumulate);
      }
    }
  }

  /// Defined in cuda/gemm.cu for the four pairs of types.
  template <class In, class Out>
  void gemm(const Gemm<In, Out>& gemm);
  template <class In, class Out>
  void gemms(std::span<const Gemm<In, Out>> gemms);

  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
          "cudaMemcpyAsync between device and host");
  }

  /// Memory for what one op keeps between its launches; nullptr where there is not enough.
  void* scratch(std::size_t bytes) {
    return bytes <= DeviceStream::kWorkspaceBytes ? device_stream_.workspace() : nullptr;
  }

  /// Ops that have kernels of their own here, each in a source of backend/cuda.
  void own(const AdamStep&, const BoundOp& bound) { update(bound); }
  void own(const SgdStep&, const BoundOp& bound) { update(bound); }
  void own(const Attention& op, const BoundOp& bound);
  void own(const AttentionGradient& op, const BoundOp& bound);

  /// Parts of Backend::execute_together(), and Backend::fill().
  void updates(std::span<const BoundOp* const> ops);
  bool residual_norm(const BoundOp& sum, const BoundOp& norm);
  void fill(const View& tensor, const InitialValues& values);

  /// One call with all batches, since the device has room for them.
  template <class F>
  void batches(std::int64_t count, F f) {
    f(*this, std::int64_t{0}, count);
  }

 private:
  void update(const BoundOp& bound) {
    const BoundOp* const one[] = {&bound};
    updates(one);
  }

  template <int threads, int block, class F>
  void in_teams(std::int64_t count, F f) {
    launch_kernel("rows_kernel", rows_kernel<threads, block, F>, blocks(count, block / threads),
                  block, stream_, count, f);
  }

  template <int tile_columns, int tile_rows, class Terms, class Real, int count>
  void column_sums_in_tiles(std::int64_t rows, std::int64_t width, Terms terms,
                            SumTargets<Real, count> targets) {
    const auto grid = static_cast<unsigned>((width + tile_columns - 1) / tile_columns);
    launch_kernel("column_sums_kernel",
                  column_sums_kernel<tile_columns, tile_rows, Terms, Real, count>, grid,
                  dim3(tile_columns, tile_rows), stream_, rows, width, terms, targets);
  }

  template <int tile_columns, int tile_rows, class Stored>
  void group_sums_in_tiles(std::span<const RowRange> groups, std::int64_t width, const Stored* in,
                           Wide<Stored>* out, bool accumulate) {
    RowGroups table{};
    std::copy(groups.begin(), groups.end(), table.ranges);
    const dim3 grid(static_cast<unsigned>((width + tile_columns - 1) / tile_columns),
                    static_cast<unsigned>(groups.size()));
    launch_kernel("group_sums_kernel", group_sums_kernel<tile_columns, tile_rows, Stored>, grid,
                  dim3(tile_columns, tile_rows), stream_, table, width, in, out, accumulate);
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
