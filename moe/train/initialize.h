#pragma once

#include <cstdint>

#include "moe/run/runner.h"

namespace moe {

/// Element `element` of parameter `name` in the whole model: a standard normal number that depends
/// on nothing but (seed, name, element), so that a model starts alike however it is divided.
/// (SplitMix64, Box-Muller)
double initial_normal(std::int64_t seed, std::uint64_t name_hash, std::int64_t element);

/// Sets every parameter to its initial values and clears gradients and optimizer state.
void initialize_parameters(Runner& runner, std::int64_t seed);

}  // namespace moe
