#pragma once

#include <utility>

#include "moe/program/op.h"

namespace moe {

/// The op of forward as backward repeats it, with the operands that it has.
inline Op repeated(Op op) {
  op.phase = Phase::backward;
  op.name += " again";
  return op;
}
/// True for an op of backward that does once more what an op of forward did.
inline bool is_repeated(const Op& op) {
  return op.phase == Phase::backward && op.name.ends_with(" again");
}

}  // namespace moe
