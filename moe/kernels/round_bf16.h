#pragma once

#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct RoundBf16Body {
  const Stored* x;
  Stored* y;
  MOE_BODY void operator()(std::int64_t i) const {
    y[i] = static_cast<Stored>(static_cast<float>(Bf16(static_cast<float>(x[i]))));
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const RoundBf16&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* x = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width, RoundBf16Body<Stored>{x + begin, y + begin});
  }
}

}  // namespace moe
