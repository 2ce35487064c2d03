#pragma once

#include <string>

#include "moe/program/program.h"
#include "moe/program/timeline.h"

namespace tuner {

/// A timeline that a person can read and a test can compare: a heading per rank and stream, and a
/// line per op in the order in which it ran, start and end in milliseconds:
///
///     rank 0 inter_node
///           1.000       3.000  all_to_all dispatch, layer 1, 1/2
std::string timeline_text(const moe::Program& program, const moe::Timeline& timeline);

/// What a timeline amounts to: means over ranks, except the duration.
struct TimelineSummary {
  double duration_s = 0;
  double computation_s = 0;    ///< any stream computes
  double communication_s = 0;  ///< any collective is under way, waiting for partners included
  double overlapped_s = 0;     ///< of that, covered by computation on the same rank
  double exposed_s = 0;        ///< of that, not covered
};
TimelineSummary summarize(const moe::Program& program, const moe::Timeline& timeline);

}  // namespace tuner
