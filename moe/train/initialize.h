#pragma once

#include <cstdint>

#include "moe/run/runner.h"

namespace moe {

/// The initial value of element `element` of a parameter, counted in the whole model: a standard
/// normal number that depends only on (seed, name, element), so that a model starts alike however
/// it is divided. (SplitMix64, Box-Muller)
double initial_normal(std::int64_t seed, std::uint64_t name_hash, std::int64_t element);

/// Sets every parameter to its initial values and clears gradients and optimizer state. `threads`
/// threads work the values out, which do not depend on how many these are.
void initialize_parameters(Runner& runner, std::int64_t seed, int threads = 1);

}  // namespace moe
