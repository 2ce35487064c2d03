#pragma once

#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct RoundedToBf16 {
  MOE_BODY Stored operator()(Stored x) const {
    return static_cast<Stored>(static_cast<float>(Bf16(static_cast<float>(x))));
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const RoundBf16&, const BoundOp& bound) {
  const std::int64_t width = bound.reads[0].columns;
  const Stored* x = data_of<Stored>(bound.reads[0]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for_each_run(bound, width, [&](std::int64_t begin, std::int64_t count) {
    exec.map(count, y + begin, RoundedToBf16<Stored>{}, x + begin);
  });
}

}  // namespace moe
