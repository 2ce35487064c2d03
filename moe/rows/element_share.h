#pragma once

#include <cstdint>

/// Consecutive elements of arrays, and the shares that ranks have of them.
namespace moe {

/// Elements [begin, begin + count) of an array.
struct ElementRange {
  std::int64_t begin = 0, count = 0;
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// The share that the `index`-th of `ranks` ranks has of these elements. All shares are equal, but
/// that of the last rank also has what is left over.
constexpr ElementRange element_share(ElementRange elements, int index, int ranks) {
  const std::int64_t equal = elements.count / ranks;
  return {elements.begin + equal * index,
          index + 1 < ranks ? equal : elements.count - equal * index};
}

/// The elements of the largest share, which is that of the last rank.
constexpr std::int64_t largest_share(std::int64_t elements, int ranks) {
  return element_share({0, elements}, ranks - 1, ranks).count;
}

}  // namespace moe
