#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct NarrowBody {
  const Wide<Stored>* x;
  Stored* y;
  MOE_BODY void operator()(std::int64_t i) const { y[i] = x[i]; }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Narrow&, const BoundOp& bound) {
  exec.elements(count_of(bound.writes[0]), NarrowBody<Stored>{data_of<Wide<Stored>>(bound.reads[0]),
                                                              data_of<Stored>(bound.writes[0])});
}

}  // namespace moe
