#pragma once

#include "moe/communicator/communicator.h"
#include "moe/program/expert_state.h"
#include "moe/rows/expert_placement.h"
#include "moe/run/runner.h"

/// Moving experts between ranks for good, between two iterations (passes/place_experts.h).
namespace moe {

/// Brings parameters and optimizer states of experts to other homes than those of runner.whole(); the Program that comes
/// next must have these. Gradients stay: the next iteration writes them anew. Tensor by tensor through the host's memory, one call
/// of the expert group for each that anything moves of. Collective over `world`. Throws as expert_slots and Communicator.
void move_experts(Runner& runner, const HomesByLayer& to, Communicator& world, double time_limit_s);

}  // namespace moe
