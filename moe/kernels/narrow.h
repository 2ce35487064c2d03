#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

template <class Stored>
struct Narrowed {
  MOE_BODY Stored operator()(Wide<Stored> x) const { return x; }
};

template <class Stored, class Exec>
void launch(Exec& exec, const Narrow&, const BoundOp& bound) {
  const Wide<Stored>* x = data_of<Wide<Stored>>(bound.reads[0]);
  exec.map(count_of(bound.writes[0]), data_of<Stored>(bound.writes[0]), Narrowed<Stored>{}, x);
}

}  // namespace moe
