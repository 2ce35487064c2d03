#pragma once

#include <vector>

#include "db/records.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// The memory of a timeline as rows of the database: the tensors of `program`, those of each
/// pipeline stage after those of the stage before, and what the plan gives each of them on each of
/// `ranks` under `routing`; on all where none is named. The highest byte of a rank is its
/// planned_peak_bytes(). Throws std::out_of_range where the routing of a layer without a capacity is
/// missing.
db::TimelineMemory memory_rows(const Program& program, const Timeline& timeline,
                               const Routing& routing, const Groups& groups,
                               std::vector<int> ranks = {});

}  // namespace moe
