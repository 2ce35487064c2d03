#pragma once

#include <string>
#include <vector>

#include "db/timeline/span_index.h"

/// The chain of spans that makes up an iteration.
namespace db {

/// A span on the critical path and its time there. Of a communication it is the part of the rank
/// that began last.
struct PathStep {
  SpanPosition at;
  double seconds = 0;
  double gap_s = 0;  ///< before it, during which nothing on the path ran
};

/// The spans that make up the duration of the timeline, in the order of time. From the span that
/// ends last, each step goes to the cause that happened last. The seconds and the gaps add up to
/// the time from the timeline's begin to the end of the last span. Empty where the causes are not
/// known.
std::vector<PathStep> critical_path(const Timeline& timeline, const SpanIndex& index);

/// The part of a critical path that the ops of a kind make up.
struct PathPart {
  TimelineOp sample;  ///< its kind is empty for the gaps
  std::size_t steps = 0;
  double seconds = 0;
};

/// By kind, longest first; the gaps are a part of their own. The parts add up to the path.
std::vector<PathPart> path_parts(const Timeline& timeline, const std::vector<PathStep>& path);

/// "expert linear"; "gaps between steps" for the part without a kind.
std::string part_name(const PathPart& part);

}  // namespace db
