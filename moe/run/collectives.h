#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Makes a communicator for each group and stream that the Program communicates on and that has
/// none yet. Every rank makes the same ones in the same order.
///
/// On NCCL it also sets RunState::issued_before as communicator/issue_order.h asks.
void make_communicators(RunState& state);

/// Carries out one op of Executor::communicator on its group.
void communicate(RunState& state, int op);

}  // namespace moe
