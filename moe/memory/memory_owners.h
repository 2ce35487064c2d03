#pragma once

#include <vector>

#include "moe/program/program.h"

namespace moe {

/// [tensor]: the tensor in whose memory it lies. That is itself, but for rows that an exchange of a
/// group with one member would copy as they are: they lie where they came from. So it is only where
/// nothing else writes them, and where nothing writes what they came from any more.
std::vector<TensorId> memory_owners(const Program& program);

}  // namespace moe
