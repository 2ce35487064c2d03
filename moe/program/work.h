#pragma once

#include <cstdint>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"

namespace moe {

/// What `op` has to do on `rank`, as its kind says (moe/ops).
Work work_of(const Program& program, const Op& op, const Binding& binding, const Groups& groups,
             int rank);

/// Bytes that this rank sends to each member of the op's group (itself included as 0). Empty unless
/// communication.
std::vector<std::int64_t> bytes_to_peers(const Program& program, const Op& op,
                                         const Binding& binding, const Groups& groups, int rank);

}  // namespace moe
