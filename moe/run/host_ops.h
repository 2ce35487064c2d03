#pragma once

#include "moe/run/run_state.h"

namespace moe {

/// Carries out the queue of the host stream on the calling thread. After each op it prepares the
/// ops whose sizes that op has made known.
void run_host(RunState& state);

}  // namespace moe
