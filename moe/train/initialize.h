#pragma once

#include <cstdint>

#include "moe/run/runner.h"

namespace moe {

/// Sets every parameter to its initial values, and gradients and optimizer states to zero. The
/// backend works the values out where they lie. A normal number depends only on the seed, the name
/// of its parameter and its place in the whole parameter, so a model begins with the same bits
/// however it is divided and on whatever device.
void initialize_parameters(Runner& runner, std::int64_t seed);

}  // namespace moe
