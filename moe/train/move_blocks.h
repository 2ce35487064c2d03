#pragma once

#include "moe/communicator/communicator.h"
#include "moe/program/program.h"
#include "moe/run/runner.h"
#include "moe/train/shared_states.h"

/// Moving whole blocks between pipeline stages for good, between two iterations
/// (passes/place_blocks.h).
namespace moe {

/// True where both Programs have every parameter in the same stage.
bool have_same_stages(const Program& a, const Program& b);

/// Gives the runner `next`, whose stages have other blocks. Parameters and optimizer states of these
/// blocks go to the rank in the same place of the new stage; since the places of all tensors in the
/// arena change, those that stay are read and written too, through the host's memory. Gradients are
/// not kept: the next iteration overwrites them. Collective over `world`.
void move_blocks(Runner& runner, Program next, const SharedStates& states, Communicator& world,
                 double time_limit_s);

}  // namespace moe
