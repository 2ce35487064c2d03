#pragma once

#include "moe/program/program.h"
#include "moe/run/runner.h"

namespace moe {

/// Seconds of an iteration during which this rank communicated and did not compute. `program` is
/// the whole one that was run; spans must have been recorded.
double exposed_communication_s(const Program& program, const IterationResult& result);

}  // namespace moe
