#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct AddBody {
  const Stored* a;
  const Stored* b;
  Stored* y;
  MOE_BODY void operator()(std::int64_t i) const { y[i] = a[i] + b[i]; }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Add&, const BoundOp& bound) {
  const std::int64_t width = bound.writes[0].columns;
  const Stored* a = data_of<Stored>(bound.reads[0]);
  const Stored* b = data_of<Stored>(bound.reads[1]);
  Stored* y = data_of<Stored>(bound.writes[0]);
  for (const RowRange& range : bound.ranges) {
    const std::int64_t begin = range.begin * width;
    exec.elements(range.rows * width, AddBody<Stored>{a + begin, b + begin, y + begin});
  }
}

}  // namespace moe
