#pragma once

#include <cstdint>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"

namespace moe {

/// The FLOPs and bytes of `op` on `rank`, as its kind counts them (moe/ops).
Work work_of(const Program& program, const Op& op, const Binding& binding, const Groups& groups,
             int rank);

/// Bytes that this rank sends to each member of the op's group, 0 to itself. Empty for an op that
/// does not communicate.
std::vector<std::int64_t> bytes_to_peers(const Program& program, const Op& op,
                                         const Binding& binding, const Groups& groups, int rank);

}  // namespace moe
