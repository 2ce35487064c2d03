#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Sets the Program that the state runs, with its start rule, its memory plan and an arena that
/// holds it. Throws OutOfMemory with rank, layer and bytes where the part of the plan that is known
/// exceeds the limit, and std::invalid_argument where neither a capacity nor a limit bounds it.
void adopt(RunState& state, Program program);

/// Prepares the state for a new iteration.
void reset(RunState& state);

/// Prepares the ops whose sizes the binding has made known (addresses, rows and messages) and lets
/// the streams go on to them. `told` is the layer whose routing the binding has just got; none at
/// the beginning of an iteration. Throws OutOfMemory where the plan exceeds the limit or the arena.
void prepare(RunState& state, std::optional<RoutedLayer> told = {});

}  // namespace moe
