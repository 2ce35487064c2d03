#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "moe/kernels/device.h"

namespace moe {

/// e^x without a branch or a call, so that loops over it vectorise. Within 2 ulp; 0 below -87,
/// infinity above 88.8; NaN stays NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts so that r is exact; e^r by its Taylor
/// series to degree 7, whose remainder is below 6e-9; 2^n through the exponent bits.
MOE_BODY float exponential(float x) {
  x = x < -87.5f ? -87.5f : x;
  x = x > 89.0f ? 89.0f : x;
  const float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer
  const float shifted = x * 1.44269504f + round;
  const float n = shifted - round;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^(n - 1) and one doubling reach up to 2^128 and give zero at the low end.
  const auto bits = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round);
  return p * std::bit_cast<float>((bits + 126) << 23) * 2.0f;
}

MOE_BODY double exponential(double x) { return std::exp(x); }

/// Maps numbers to integers in the same order.
MOE_BODY std::uint32_t ordered_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
MOE_BODY std::uint64_t ordered_bits(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return bits >> 63 ? ~bits : bits | 0x8000000000000000u;
}

}  // namespace moe
