#include "moe/communicator/sum.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "moe/kernels/bf16.h"
#include "moe/kernels/with_type.h"

namespace moe {
namespace {

/// Tile by tile through buffers that stay in the first-level cache: `sum` may be one of the parts.
constexpr std::int64_t kTileCount = 1024;
template <typename T>
using Tile = std::array<Wide<T>, kTileCount>;

template <typename T>
void add_parts(std::span<const void* const> parts, std::int64_t begin, std::int64_t n,
               Tile<T>& sum) {
  std::copy_n(static_cast<const T*>(parts[0]) + begin, n, sum.data());
  for (const void* part : parts.subspan(1)) {
    const T* addend = static_cast<const T*>(part) + begin;
    for (std::int64_t i = 0; i < n; ++i) sum[i] += addend[i];
  }
}

template <typename T>
void sum_typed(std::span<const void* const> parts, void* sum, std::int64_t count) {
  Tile<T> tile;
  for (std::int64_t begin = 0; begin < count; begin += kTileCount) {
    const std::int64_t n = std::min(kTileCount, count - begin);
    add_parts<T>(parts, begin, n, tile);
    std::copy_n(tile.data(), n, static_cast<T*>(sum) + begin);
  }
}

template <typename T>
void sum_sets(std::span<const std::vector<const void*>> sets, void* sum, std::int64_t count) {
  Tile<T> total, of_set;
  for (std::int64_t begin = 0; begin < count; begin += kTileCount) {
    const std::int64_t n = std::min(kTileCount, count - begin);
    add_parts<T>(sets[0], begin, n, total);
    for (const auto& set : sets.subspan(1)) {
      add_parts<T>(set, begin, n, of_set);
      for (std::int64_t i = 0; i < n; ++i) total[i] += of_set[i];
    }
    std::copy_n(total.data(), n, static_cast<T*>(sum) + begin);
  }
}

}  // namespace

void sum_in_order(std::span<const void* const> parts, void* sum, std::int64_t count, DType dtype) {
  if (parts.empty()) throw std::invalid_argument("sum_in_order: no parts");
  with_type(dtype, [&](auto type) { sum_typed<decltype(type)>(parts, sum, count); });
}

void sum_of_sums(std::span<const std::vector<const void*>> sets, void* sum, std::int64_t count,
                 DType dtype) {
  if (sets.empty() || std::ranges::any_of(sets, [](const auto& set) { return set.empty(); })) {
    throw std::invalid_argument("sum_of_sums: no parts");
  }
  with_type(dtype, [&](auto type) { sum_sets<decltype(type)>(sets, sum, count); });
}

}  // namespace moe
