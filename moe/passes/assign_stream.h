#pragma once

#include "moe/passes/schedule.h"
#include "moe/program/program.h"

namespace moe {

/// Moves every op of one kind to a stream. Streams only add concurrency: dependencies still order
/// all that touch the same rows, so values do not change. Throws std::invalid_argument when no
/// alternative has that name, when a computing op would leave the compute stream, or when the
/// exchange of counts, which the host needs, would leave the host.
Program assign_stream(Program program, const StreamAssignment& assignment);

}  // namespace moe
