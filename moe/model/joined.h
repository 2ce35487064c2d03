#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace moe {

/// The elements of all arrays, one array after the other.
template <class T, std::size_t kFirst, std::size_t... kOthers>
constexpr auto joined(const std::array<T, kFirst>& first, const std::array<T, kOthers>&... others) {
  std::array<T, (kFirst + ... + kOthers)> all{};
  auto end = std::copy(first.begin(), first.end(), all.begin());
  ((end = std::copy(others.begin(), others.end(), end)), ...);
  return all;
}

}  // namespace moe
