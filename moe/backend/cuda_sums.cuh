#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "moe/backend/cuda_pack.cuh"
#include "moe/kernels/column_sums.h"
#include "moe/rows/row_layout.h"

/// Sums over the rows of matrices. A block sums up a tile of columns, a pack for each of its threads
/// in a row, over a share of the rows; a second launch adds the shares up in order. Rows and columns
/// alone decide the order of a sum.
namespace moe {

inline constexpr int kSumPacks = 8, kSumRows = 32;  ///< the threads of a block
inline constexpr std::int64_t kShareRows = 512;

/// The ranges of rows that one launch sums up each on its own, cut into shares. A range without rows
/// has a share too, whose sum is zero.
template <int capacity>
struct RowGroups {
  RowRange ranges[capacity];
  std::int32_t ends[capacity];  ///< the number of the share after the last of each
  int count;
  std::int64_t share_rows;

  /// At most `capacity` ranges. Where not `cut`, each is one share.
  RowGroups(std::span<const RowRange> groups, bool cut)
      : ranges{},
        ends{},
        count(static_cast<int>(groups.size())),
        share_rows(cut ? kShareRows : std::numeric_limits<std::int64_t>::max()) {
    std::int64_t shares = 0;
    for (int group = 0; group < count; ++group) {
      ranges[group] = groups[static_cast<std::size_t>(group)];
      const std::int64_t rows = ranges[group].rows;
      shares += rows == 0 ? 1 : (rows - 1) / share_rows + 1;
      ends[group] = static_cast<std::int32_t>(shares);
    }
  }
  std::int32_t shares() const { return ends[count - 1]; }

  __device__ std::int32_t begin_of(int group) const { return group == 0 ? 0 : ends[group - 1]; }
  __device__ int group_of(std::int32_t share) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (share < ends[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

/// Columns that a thread adds up: a pack of each array, or a few where a term reads by itself.
template <class... In>
inline constexpr int kSumPack = kPackWidth<In...>;
template <>
inline constexpr int kSumPack<> = 4;

/// Blocks: [tile of columns, share]. Each row of threads sums up every kSumRows-th row of the share;
/// then these sums are added in order. partial[share, which sum, column] gets those of groups that
/// have several shares; the others are stored.
template <int capacity, class F, class Real, int count, class... In>
__global__ void __launch_bounds__(kSumPacks* kSumRows)
    column_sums_kernel(const __grid_constant__ RowGroups<capacity> groups, std::int64_t width, F f,
                       SumTargets<Real, count> targets, Real* partial, const In*... in) {
  constexpr int pack = kSumPack<In...>, columns = kSumPacks * pack;
  __shared__ Real sums_of[count][kSumRows][columns];
  const auto share = static_cast<std::int32_t>(blockIdx.y);
  const int group = groups.group_of(share);
  const RowRange range = groups.ranges[group];
  const std::int64_t skipped = (share - groups.begin_of(group)) * kShareRows;
  const std::int64_t left = range.rows - skipped;
  const std::int64_t begin = range.begin + skipped;
  const std::int64_t end = begin + (left < groups.share_rows ? left : groups.share_rows);
  const std::int64_t tile = std::int64_t{blockIdx.x} * columns;
  const std::int64_t first = tile + std::int64_t{threadIdx.x} * pack;

  Real sums[count][pack] = {};
  const auto add = [&](std::int64_t row, int c, In... elements) {
    const Sums<Real, count> term = term_of(f, row, first + c, elements...);
    MOE_UNROLL(16) for (int which = 0; which < count; ++which) sums[which][c] += term.value[which];
  };
  bool has_packs = width % pack == 0;
  if constexpr (sizeof...(In) > 0) has_packs = has_packs && begin_packs<pack>(in...);
  if (has_packs) {
    const std::int64_t last = first < width ? end : begin;
    MOE_UNROLL(4) for (std::int64_t row = begin + threadIdx.y; row < last; row += kSumRows) {
      const auto add_packs = [&](const Pack<In, pack>&... packs) {
        MOE_UNROLL(16) for (int c = 0; c < pack; ++c) add(row, c, packs.value[c]...);
      };
      add_packs(Pack<In, pack>(pack_at<pack>(in + row * width + first, 0))...);
    }
  } else {
    for (std::int64_t row = begin + threadIdx.y; row < end; row += kSumRows) {
      MOE_UNROLL(16) for (int c = 0; c < pack; ++c) {
        if (first + c < width) add(row, c, in[row * width + first + c]...);
      }
    }
  }
  MOE_UNROLL(16) for (int which = 0; which < count; ++which) {
    MOE_UNROLL(16) for (int c = 0; c < pack; ++c) {
      sums_of[which][threadIdx.y][threadIdx.x * pack + c] = sums[which][c];
    }
  }
  __syncthreads();
  const int own = static_cast<int>(threadIdx.y) * kSumPacks + static_cast<int>(threadIdx.x);
  const std::int64_t column = tile + own;
  if (own >= columns || column >= width) return;
  const bool whole = groups.begin_of(group) + 1 == groups.ends[group];
  MOE_UNROLL(16) for (int which = 0; which < count; ++which) {
    Real sum = 0;
    for (int row = 0; row < kSumRows; ++row) sum += sums_of[which][row][own];
    if (whole) {
      targets.store(which, group * width + column, sum);
    } else {
      partial[(std::int64_t{share} * count + which) * width + column] = sum;
    }
  }
}

/// The sums of groups that have several shares. Blocks: [kThreads columns, group].
template <int threads, int capacity, class Real, int count>
__global__ void __launch_bounds__(threads)
    add_shares_kernel(const __grid_constant__ RowGroups<capacity> groups, std::int64_t width,
                      SumTargets<Real, count> targets, const Real* partial) {
  const int group = static_cast<int>(blockIdx.y);
  const std::int32_t begin = groups.begin_of(group), end = groups.ends[group];
  const std::int64_t column = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (begin + 1 == end || column >= width) return;
  MOE_UNROLL(16) for (int which = 0; which < count; ++which) {
    Real sum = 0;
    for (std::int64_t share = begin; share < end; ++share) {
      sum += partial[(share * count + which) * width + column];
    }
    targets.store(which, group * width + column, sum);
  }
}

}  // namespace moe
