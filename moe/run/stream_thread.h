#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Blocks until `op` may start by the start rule and, on a device, may be issued. False where
/// another thread failed. Throws TimeLimit with the op that was waited for.
bool await_turn(RunState& state, int op);

/// The body of the thread of one device stream: carries out its queue in every iteration, until the
/// runner stops.
void drive_stream(RunState& state, Stream stream);

}  // namespace moe
