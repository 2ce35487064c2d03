#pragma once

#include <bit>
#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// The upper half of a float, rounded. NaN stays NaN.
MOE_BODY float rounded_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  return x != x ? x : std::bit_cast<float>(rounded);
}

template <class Real>
struct RoundBf16Body {
  const Real* x;
  Real* y;
  MOE_BODY void operator()(std::int64_t i) const {
    y[i] = static_cast<Real>(rounded_bf16(static_cast<float>(x[i])));
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const RoundBf16&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Real* x = data_of<Real>(bound.reads[0]);
  Real* y = data_of<Real>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width, RoundBf16Body<Real>{x + begin, y + begin});
  }
}

}  // namespace moe
