#pragma once

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// The routing of a Program whose experts all get the same number of copies from every rank: the
/// choices of all tokens, or as many as there is capacity for. Rows that have been cut into parts
/// or chunks are not known here.
Routing even_routing(const Program& program, const Groups& groups);

}  // namespace moe
