#pragma once

#include <string>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"

namespace moe {

/// Finds where a loss that is not finite began. The runner must have the parameters that gave that
/// loss and the same batch. Runs the forward phase once more and checks every value that an op
/// writes. Throws NotFinite, with the same text on every rank: `what` ("iteration 7: the loss is
/// nan"), then the rank, layer, op and tensor that come first in program order, or the parameter
/// that was not finite before the first op. Collective over `world`.
[[noreturn]] void throw_not_finite(Runner& runner, Backend& backend, Communicator& world,
                                   const std::string& what);

}  // namespace moe
