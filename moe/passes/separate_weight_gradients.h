#pragma once

#include <vector>

#include "moe/program/program.h"

namespace moe {

/// [op]: true for the ops that compute only gradients of parameters and that can wait until a
/// stage has ended the other ops of the same micro-batch and phase: none of these overwrites what
/// they read, or adds to the same gradients. The gradients of a parameter are computed by such ops
/// in every micro-batch, or in none.
std::vector<bool> separate_weight_gradients(const Program& program);

}  // namespace moe
