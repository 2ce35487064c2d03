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
#include "moe/backend/cuda_sums.cuh"
#include "moe/backend/device_team.cuh"
#include "moe/kernels/bf16.h"
#include "moe/kernels/bound_op.h"
#include "moe/kernels/column_sums.h"
#include "moe/kernels/gemm.h"
#include "moe/kernels/initial_values.h"
#include "moe/ops/attention.h"

namespace moe {

inline constexpr int kBlockThreads = 256, kMostThreads = 512;
/// Rows up to this width are computed by a warp, wider rows by a block. Only the width decides, so
/// that the order of a row's sums does not depend on the number of rows.
inline constexpr std::int64_t kWarpWidth = 1024;

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
  map_elements<false>(count, std::int64_t{blockIdx.x} * kBlockThreads + threadIdx.x,
                      std::int64_t{gridDim.x} * kBlockThreads, out, f, in...);
}

/// (first[i], second[i]) = f(in[i]...)
template <class Out, class F, class... In>
__global__ void __launch_bounds__(kBlockThreads)
    map_two_kernel(std::int64_t count, Out* first, Out* second, F f, const In*... in) {
  constexpr int width = kPackWidth<Out, In...>;
  const auto one = [=](std::int64_t i, In... elements) {
    const auto both = f(elements...);
    first[i] = both.first;
    second[i] = both.second;
  };
  const auto pack = [=](std::int64_t place, const Pack<In, width>&... packs) {
    Pack<Out, width> firsts, seconds;
    for (int i = 0; i < width; ++i) {
      const auto both = f(packs.value[i]...);
      firsts.value[i] = both.first;
      seconds.value[i] = both.second;
    }
    pack_at<width>(first, place) = firsts;
    pack_at<width>(second, place) = seconds;
  };
  for_packs<width, false, false>(
      count, std::int64_t{blockIdx.x} * kBlockThreads + threadIdx.x,
      std::int64_t{gridDim.x} * kBlockThreads, begin_packs<width>(first, second, in...),
      [&](std::int64_t place, auto nth) {
        pack(place, load_pack<width, decltype(nth)::value>(in, place)...);
      },
      [&](std::int64_t i) { one(i, in[i]...); });
}

/// The executor that enqueues on one CUDA stream; kernels/execute.h lists its functions.
class CudaExec {
 public:
  static constexpr AttentionTile kAttentionTile = kGpuAttentionTile;
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

  template <class Out, class F, class... In>
  void map_two(std::int64_t count, Out* first, Out* second, F f, const In*... in) {
    if (count == 0) return;
    const std::int64_t packs = (count + kPackWidth<Out, In...> - 1) / kPackWidth<Out, In...>;
    launch_kernel("map_two_kernel", map_two_kernel<Out, F, In...>, blocks(packs, kBlockThreads),
                  kBlockThreads, stream_, count, first, second, f, in...);
  }

  template <class F, class Real, int count, class... In>
  void column_sums(std::int64_t rows, std::int64_t width, F f, SumTargets<Real, count> targets,
                   const In*... in) {
    const RowRange all[] = {{0, rows}};
    sum_groups<1>(all, width, f, targets, in...);
  }

  template <class Stored>
  void column_sums_of_groups(const Stored* in, std::span<const RowRange> groups, std::int64_t width,
                             Wide<Stored>* out, bool accumulate) {
    constexpr std::size_t most = 128;  // that the arguments of a kernel have room for
    for (; !groups.empty(); out += most * width) {
      const auto some = groups.first(std::min(groups.size(), most));
      groups = groups.subspan(some.size());
      sum_groups<most>(some, width, ElementTerm<Stored>{},
                       SumTargets<Wide<Stored>, 1>{{out}, accumulate}, in);
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

  /// Where there is no room for the sums of shares, no range is cut.
  template <int capacity, class F, class Real, int count, class... In>
  void sum_groups(std::span<const RowRange> ranges, std::int64_t width, F f,
                  SumTargets<Real, count> targets, const In*... in) {
    if (width == 0) return;
    RowGroups<capacity> groups(ranges, true);
    Real* partial = nullptr;
    if (groups.shares() > groups.count) {
      const auto sums = static_cast<std::size_t>(groups.shares() * count * width);
      partial = static_cast<Real*>(scratch(sums * sizeof(Real)));
      if (partial == nullptr) groups = RowGroups<capacity>(ranges, false);
    }
    const auto blocks_of = [=](int columns) {
      return static_cast<unsigned>((width + columns - 1) / columns);
    };
    launch_kernel(
        "column_sums_kernel", column_sums_kernel<capacity, F, Real, count, In...>,
        dim3(blocks_of(kSumPacks * kSumPack<In...>), static_cast<unsigned>(groups.shares())),
        dim3(kSumPacks, kSumRows), stream_, groups, width, f, targets, partial, in...);
    if (partial == nullptr) return;
    launch_kernel("add_shares_kernel", add_shares_kernel<kBlockThreads, capacity, Real, count>,
                  dim3(blocks_of(kBlockThreads), static_cast<unsigned>(ranges.size())),
                  kBlockThreads, stream_, groups, width, targets, partial);
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
