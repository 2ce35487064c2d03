#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace db {

/// How the ranks of a timeline spent their time, by rank, and by rank, layer, phase and kind.
struct TimelineActivity {
  std::vector<RankActivity> ranks;
  std::vector<OpActivity> ops;
};

/// Of these spans, in any order; `n log n` in their number. timeline_id is that of the spans. A span
/// of none of the ops counts as an activity that is not known.
TimelineActivity activity_of(std::span<const TimelineOp> ops, std::span<const Span> spans);

/// Stores it for every timeline that has spans and no activity, as those of older programs, and
/// says so and how far it is. Each timeline is a transaction: cut short, the next call goes on.
void add_missing_activity(Connection&);

/// How many timelines have spans and no activity.
std::int64_t timelines_without_activity(const Connection&);

}  // namespace db
