#pragma once

#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"
#include "moe/train/shared_states.h"

namespace moe {

/// Gives the runner another Program of the same model, between two iterations: experts move to
/// their homes (move_experts.h), blocks to their stages (move_blocks.h), and states of the optimizer
/// between ranks where only one of the two Programs shares them out (passes/shard_optimizer.h). Where
/// stages keep their blocks nothing else moves: blocks of experts that stay, and states of
/// parameters that no other rank has, keep their places on the device.
/// Collective over `world`.
void change_program(Runner& runner, Program next, const SharedStates& states, Communicator& world,
                    double time_limit_s);

}  // namespace moe
