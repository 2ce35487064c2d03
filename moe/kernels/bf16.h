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

/// What a float has beyond the Bf16 that it rounds to: the difference of their bit patterns. Both
/// together make the float again (float_of), and take as many bits.
///
/// One float in 131,072 is not made again: one half way between two Bf16 that rounds towards zero.
/// 65,537 floats round to a Bf16 whose last bit is 0, and a remainder has 65,536 values. The float
/// next to it, which rounds to the same Bf16, takes its place. NaN stays NaN.
struct Bf16Remainder {
  std::int16_t bits;

  Bf16Remainder() = default;
  constexpr explicit Bf16Remainder(float x) : bits(beyond(x)) {}

 private:
  static constexpr std::int16_t beyond(float x) {
    const std::uint32_t rounded = std::uint32_t{Bf16(x).bits} << 16;
    const auto difference = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x) - rounded);
    const std::int32_t held = difference > 0x7fff ? 0x7fff : difference;
    return static_cast<std::int16_t>(x != x ? 0 : held);
  }
};

constexpr float float_of(Bf16 rounded, Bf16Remainder remainder) {
  const std::uint32_t upper = std::uint32_t{rounded.bits} << 16;
  return std::bit_cast<float>(upper + static_cast<std::uint32_t>(std::int32_t{remainder.bits}));
}

template <class Stored>
struct WideType {
  using Type = Stored;
};
template <>
struct WideType<Bf16> {
  using Type = float;
};
template <>
struct WideType<Bf16Remainder> {
  using Type = float;
};
/// The type in which numbers of type Stored are computed and added up, as wide_of() of their dtype.
template <class Stored>
using Wide = typename WideType<Stored>::Type;

}  // namespace moe
