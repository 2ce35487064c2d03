#pragma once

#include <bit>
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

/// ln x for x in (0, 1], within 2 ulp. Each step is rounded as IEEE 754 says, and a product that
/// is not exact is never added to: all compilers and devices get the same bits, whether or not they
/// join products and sums. They do not from std::log.
///
/// x = 2^n m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh s with s = (m - 1) / (m + 1),
/// |s| < 0.172, by its series to s^21, whose remainder is below 1e-18.
MOE_BODY double exact_log(double x) {
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2)
  constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t n = static_cast<std::int64_t>(bits - kRootOfHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(n) << 52));
  const double s = (m - 1) / (m + 1), z = s * s, twice = 2 * s;
  double p = 1.0 / 21;
  p = std::fma(p, z, 1.0 / 19);
  p = std::fma(p, z, 1.0 / 17);
  p = std::fma(p, z, 1.0 / 15);
  p = std::fma(p, z, 1.0 / 13);
  p = std::fma(p, z, 1.0 / 11);
  p = std::fma(p, z, 1.0 / 9);
  p = std::fma(p, z, 1.0 / 7);
  p = std::fma(p, z, 1.0 / 5);
  p = std::fma(p, z, 1.0 / 3);
  const double of_m = std::fma(twice * z, p, twice);
  const auto power = static_cast<double>(n);
  return std::fma(power, kLn2High, std::fma(power, kLn2Low, of_m));
}

/// cos(2 pi turns) for turns in [0, 1], within 2 ulp of 1; the same bits everywhere, too.
///
/// The angle is x = 2 pi r from the nearest quarter, |r| <= 1/8 exactly; sin x and cos x by their
/// series to x^17 and x^16, whose remainders are below 1e-17.
MOE_BODY double exact_cosine(double turns) {
  constexpr double kTwoPi = 6.283185307179586;
  const auto quarter = static_cast<std::int64_t>(4 * turns + 0.5);  // 4 turns is exact
  const double r = turns - 0.25 * static_cast<double>(quarter);
  const double x = kTwoPi * r, z = x * x;
  double sine = 1.0 / 355687428096000;
  sine = std::fma(sine, z, -1.0 / 1307674368000);
  sine = std::fma(sine, z, 1.0 / 6227020800);
  sine = std::fma(sine, z, -1.0 / 39916800);
  sine = std::fma(sine, z, 1.0 / 362880);
  sine = std::fma(sine, z, -1.0 / 5040);
  sine = std::fma(sine, z, 1.0 / 120);
  sine = std::fma(sine, z, -1.0 / 6);
  sine = std::fma(sine, x * z, x);
  double cosine = 1.0 / 20922789888000;
  cosine = std::fma(cosine, z, -1.0 / 87178291200);
  cosine = std::fma(cosine, z, 1.0 / 479001600);
  cosine = std::fma(cosine, z, -1.0 / 3628800);
  cosine = std::fma(cosine, z, 1.0 / 40320);
  cosine = std::fma(cosine, z, -1.0 / 720);
  cosine = std::fma(cosine, z, 1.0 / 24);
  cosine = std::fma(cosine, z, -0.5);
  cosine = std::fma(cosine, z, 1.0);
  // cos(x + q pi/2) is cos x, -sin x, -cos x, sin x.
  const double size = (quarter & 1) != 0 ? sine : cosine;
  return ((quarter + 1) & 2) != 0 ? -size : size;
}

/// Standard normal, the same bits on every processor and device.
MOE_BODY double normal(std::uint64_t bits) {
  return std::sqrt(-2 * exact_log(unit(bits))) * exact_cosine(unit(mix(bits)));
}

/// Uniform in [0, 1), of 24 bits: the same number in float and in double.
template <class Real>
MOE_BODY Real short_unit(std::uint64_t bits) {
  return static_cast<Real>(bits >> 40) * Real(0x1p-24);
}

}  // namespace moe
