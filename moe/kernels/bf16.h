#pragma once

#include <bit>
#include <cstdint>

namespace moe {

/// The upper half of a float: its sign, its exponent and 7 bits of its mantissa. A float is rounded
/// to the nearest, ties to even; NaN stays NaN. It is a type to store in: it becomes a float before
/// anything is computed, and nothing adds to it in place.
struct Bf16 {
  std::uint16_t bits;

  Bf16() = default;
  constexpr Bf16(float x) : bits(nearest(x)) {}
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static constexpr std::uint16_t nearest(float x) {
    const auto from = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (from + 0x7fffu + ((from >> 16) & 1u)) >> 16;
    const std::uint32_t quiet_nan = from >> 16 | 0x40u;
    return static_cast<std::uint16_t>(x != x ? quiet_nan : rounded);
  }
};

template <class Stored>
struct WideType {
  using Type = Stored;
};
template <>
struct WideType<Bf16> {
  using Type = float;
};
/// The type in which numbers of type Stored are computed and added up, as wide_of() of their dtype.
template <class Stored>
using Wide = typename WideType<Stored>::Type;

}  // namespace moe
