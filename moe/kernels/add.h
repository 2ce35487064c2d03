#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct SumOfTwo {
  MOE_BODY Wide<Stored> operator()(Stored a, Stored b) const { return a + b; }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Add&, const BoundOp& bound) {
  const std::int64_t width = bound.writes[0].columns;
  const Stored* a = data_of<Stored>(bound.reads[0]);
  const Stored* b = data_of<Stored>(bound.reads[1]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for_each_run(bound, width, [&](std::int64_t begin, std::int64_t count) {
    exec.map(count, y + begin, SumOfTwo<Stored>{}, a + begin, b + begin);
  });
}

}  // namespace moe
