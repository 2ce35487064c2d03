#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/timeline/span_index.h"

/// Which ops of a timeline kept ranks from computing, and why.
namespace db {

/// The rank that all others waited for most, and what it ran meanwhile.
struct LateRank {
  int rank = 0;
  std::string ran;  ///< label of the op that held it up for most of that time; may be empty
};

/// One communication with all its chunks. Its seconds are means over the ranks of the timeline.
struct ExposedOp {
  TimelineOp sample;  ///< the first of the chunks
  double duration_s = 0;
  double exposed_s = 0;  ///< the part during which its rank computed nothing
  /// The part of exposed_s that passed before the last rank had begun the op; none where nothing
  /// tells which ranks take part together.
  std::optional<double> waiting_s;
  std::optional<LateRank> late;  ///< where ranks waited
  std::string next;  ///< label of what was computed after it on most ranks; may be empty
};

/// The communications of `timeline`, the most exposed first. Durations and exposed parts are those
/// of the table of ops (op_table.h). Ranks wait for the last one of their
/// group to begin. Where the timeline does not know its groups, `all_together` says that the ranks
/// of every collective are all ranks.
std::vector<ExposedOp> exposed_ops(const Timeline& timeline, const SpanIndex& index,
                                   bool all_together);

}  // namespace db
