#pragma once

#include <string>

#include "db/timeline/timeline.h"

namespace db {

/// A timeline that a person can read and a test can compare: a heading per rank and stream, and a
/// line per op in the order in which it ran, start and end in milliseconds:
///
///     rank 0 inter_node
///           1.000       3.000  all_to_all dispatch, layer 1, 1/2
std::string timeline_text(const Timeline& timeline);

/// "timeline 3 (run 2, iteration 9)".
std::string timeline_name(const TimelineInfo& info);

}  // namespace db
