#pragma once

#include "moe/communicator/communicator.h"
#include "moe/program/expert_state.h"
#include "moe/rows/expert_placement.h"
#include "moe/run/runner.h"
#include "moe/train/shared_states.h"

/// Moving experts between ranks for good, between two iterations (passes/place_experts.h).
namespace moe {

/// Sends parameters and optimizer states of experts from their homes in runner.whole() to the homes
/// `to`, which the next Program must have. Gradients stay, since the next iteration overwrites
/// them. Every tensor with experts that move takes one all-to-all of the expert group, through the
/// host's memory. Collective over `world`. Throws as expert_slots and Communicator.
void move_experts(Runner& runner, const HomesByLayer& to, const SharedStates& states,
                  Communicator& world, double time_limit_s);

}  // namespace moe
