#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Splits off a communicator for each group and stream that the Program communicates on; those there
/// are stay. Every rank makes the same ones in the same order.
///
/// Device communicators of several streams must be issued in one order on all ranks: such an op so
/// waits (issued_before) until those before it in the Program are on their streams.
void make_communicators(RunState& state);

/// Carries out one op of Executor::communicator on its group.
void communicate(RunState& state, int op);

}  // namespace moe
