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

/// The times of a timeline by what happens in them: means over ranks, except the duration.
struct TimelineSummary {
  double duration_s = 0;
  double computation_s = 0;    ///< the time during which any stream computes
  double communication_s = 0;  ///< the time of collectives, including the wait for other ranks
  double overlapped_s = 0;     ///< the part of communication_s during which the rank computes
  double exposed_s = 0;        ///< the part of communication_s during which it does not
};
TimelineSummary summarize(const moe::Program& program, const moe::Timeline& timeline);

}  // namespace tuner
