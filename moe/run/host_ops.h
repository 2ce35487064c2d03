#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Goes through the queue of the host stream on the calling thread, and prepares the ops that each
/// host op makes known.
void run_host(RunState& state);

}  // namespace moe
