#include "moe/communicator/sum.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace moe {
namespace {

template <typename T>
void sum_typed(std::span<const void* const> parts, void* sum, std::int64_t count) {
  // Tile by tile through a buffer that stays in the first-level cache: `sum` may alias a part.
  constexpr std::int64_t tile_count = 1024;
  std::array<T, tile_count> tile;
  for (std::int64_t begin = 0; begin < count; begin += tile_count) {
    const std::int64_t n = std::min(tile_count, count - begin);
    std::copy_n(static_cast<const T*>(parts[0]) + begin, n, tile.data());
    for (const void* part : parts.subspan(1)) {
      const T* addend = static_cast<const T*>(part) + begin;
      for (std::int64_t i = 0; i < n; ++i) tile[i] += addend[i];
    }
    std::copy_n(tile.data(), n, static_cast<T*>(sum) + begin);
  }
}

}  // namespace

void sum_in_order(std::span<const void* const> parts, void* sum, std::int64_t count, DType dtype) {
  if (parts.empty()) throw std::invalid_argument("sum_in_order: no parts");
  switch (dtype) {
    case DType::f32:
      return sum_typed<float>(parts, sum, count);
    case DType::f64:
      return sum_typed<double>(parts, sum, count);
    case DType::i32:
      return sum_typed<std::int32_t>(parts, sum, count);
  }
  throw std::invalid_argument("sum_in_order: unknown dtype");
}

}  // namespace moe
