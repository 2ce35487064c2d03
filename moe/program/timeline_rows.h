#pragma once

#include <cstdint>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "db/timeline/timeline.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// A timeline as rows of the database: one TimelineOp per op, and one Span per op and rank with its
/// FLOPs and bytes under `routing`. Where sent_bytes ([rank][op]) is given, the bytes of
/// communications are taken from it. `edges` are what ops wait for (start_rule.h), `groups` those
/// in which ops of the Program communicate. `memory` is left empty: memory_rows() makes it.
struct TimelineRows {
  db::TimelineInfo timeline;
  std::vector<db::TimelineOp> ops;
  std::vector<db::Span> spans;
  std::vector<db::OpEdge> edges;
  std::vector<db::RankGroup> groups;
  db::TimelineMemory memory = {};
};
TimelineRows timeline_rows(const Program& program, const Timeline& timeline, const Routing& routing,
                           const Groups& groups,
                           const std::vector<std::vector<std::int64_t>>& sent_bytes = {});

/// The timeline that questions are asked of (db/timeline), without bytes and FLOPs. Of ranks with
/// the same spans it has one, the lowest, which stands for all of them.
db::Timeline asked_timeline(const Program& program, const Timeline& timeline, const Groups& groups);

/// Stores the rows. Returns the timeline's id.
std::int64_t insert(db::Connection& connection, const TimelineRows& rows);

}  // namespace moe
