#include "moe/train/permutation.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "moe/kernels/counter_random.h"

namespace moe {
namespace {

std::uint64_t feistel(std::uint64_t value, int half_bits, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits, right = value & mask;
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t next = left ^ (mix(mix(key + round) + right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

std::int64_t permuted(std::int64_t index, std::int64_t count, std::uint64_t key) {
  if (index < 0 || index >= count) {
    throw std::invalid_argument(fmt::format("permuted: {} of {}", index, count));
  }
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1)));
  const int half_bits = (bits + 1) / 2;
  auto value = static_cast<std::uint64_t>(index);
  do {
    value = feistel(value, half_bits, key);
  } while (value >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(value);
}

}  // namespace moe
