#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Blocks until `op` may start by the rule and, on a device, may be issued; false when another
/// thread failed. Throws TimeLimit naming what was waited for.
bool await_turn(RunState& state, int op);

/// Body of the thread of one device stream: goes through its queue in every iteration, until the
/// runner stops.
void drive_stream(RunState& state, Stream stream);

}  // namespace moe
