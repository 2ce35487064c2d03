#pragma once

#include <string>
#include <string_view>

#include "moe/program/op.h"

namespace moe {

inline constexpr std::string_view kAgain = " again";

/// The op of forward as backward repeats it, with the operands that it has.
inline Op repeated(Op op) {
  op.phase = Phase::backward;
  op.name += kAgain;
  return op;
}
/// True for an op of backward that does once more what an op of forward did.
inline bool is_repeated(const Op& op) {
  return op.phase == Phase::backward && op.name.ends_with(kAgain);
}
/// The name of the op of forward that such an op repeats.
inline std::string name_of_repeated(const Op& op) {
  return op.name.substr(0, op.name.size() - kAgain.size());
}

}  // namespace moe
