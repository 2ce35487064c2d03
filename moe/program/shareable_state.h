#pragma once

#include "moe/program/program.h"

namespace moe {

/// True where several ranks update the parameter alike, so that a schedule may have each of them
/// hold a share of its states (Parameter::shares_state).
inline bool may_share_state(const Program& program, const Parameter& parameter) {
  return parameter.optimized && group_size(program.groups, parameter.replicas) >= 2;
}

}  // namespace moe
