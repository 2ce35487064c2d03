#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Splits off a communicator for each group and stream that the Program communicates on; those there
/// are stay. Every rank makes the same ones in the same order.
///
/// On NCCL, RunState::issued_before holds what communicator/issue_order.h asks for.
void make_communicators(RunState& state);

/// Carries out one op of Executor::communicator on its group.
void communicate(RunState& state, int op);

}  // namespace moe
