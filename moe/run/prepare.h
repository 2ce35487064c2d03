#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Makes the Program the one that the state runs: its rule, its memory plan, an arena that holds it.
/// Throws OutOfMemory with rank, layer and bytes where what is known of the plan exceeds the limit,
/// std::invalid_argument where neither capacity nor a limit bounds it.
void adopt(RunState& state, Program program);

/// Forgets the last iteration.
void reset(RunState& state);

/// Gives places, rows and messages to the ops that the binding tells them of, which has just learned the routing of
/// `told` (of nothing, at the beginning), and lets the streams go on to them. Throws OutOfMemory where the plan exceeds
/// the limit or the arena.
void prepare(RunState& state, std::optional<RoutedLayer> told = {});

}  // namespace moe
