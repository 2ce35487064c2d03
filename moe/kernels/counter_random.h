#pragma once

#include <cmath>
#include <cstdint>

#include "moe/kernels/device.h"

/// Random numbers that are functions of their keys alone: the same on every rank and back end, in
/// whatever order they are drawn. (SplitMix64, Box-Muller)
namespace moe {

MOE_BODY std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Uniform in (0, 1].
MOE_BODY double unit(std::uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }

/// Standard normal.
MOE_BODY double normal(std::uint64_t bits) {
  constexpr double kTwoPi = 6.283185307179586;
  return std::sqrt(-2 * std::log(unit(bits))) * std::cos(kTwoPi * unit(mix(bits)));
}

/// Uniform in [0, 1), of 24 bits: the same number in float and in double.
template <class Real>
MOE_BODY Real short_unit(std::uint64_t bits) {
  return static_cast<Real>(bits >> 40) * Real(0x1p-24);
}

}  // namespace moe
