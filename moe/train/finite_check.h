#pragma once

#include <string>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"

namespace moe {

/// Finds where a loss that is not finite began, given a runner whose parameters are those that gave
/// that loss and whose batch is still loaded: runs the forward pass once more and looks at every
/// value that an op writes. Throws NotFinite, the same on every rank: `what` ("iteration 7: the
/// loss is nan"), then the rank, layer, op and tensor that come first in program order, or the
/// parameter that was not finite before the first op. Collective over `world`.
[[noreturn]] void throw_not_finite(Runner& runner, Backend& backend, Communicator& world,
                                   const std::string& what);

}  // namespace moe
