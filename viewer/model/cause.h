#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "viewer/model/collective.h"

/// Why a span began when it did, and the chain of spans that makes up an iteration.
namespace viewer {

enum class Reason {
  stream,      ///< the span before it on its stream ended
  data,        ///< an op that it waits for ended
  rendezvous,  ///< the last rank of its communication began
};

std::string_view reason_name(Reason reason);

/// Something that had to happen on a rank before a span could begin, or before its transfer could.
struct Cause {
  SpanPosition at;
  Reason reason = Reason::stream;
  double at_s = 0;  ///< when it happened: the end of `at`, or the begin of the last rank's part
};

/// The causes of a span, the last to happen first: the span before it on its stream, the ops that
/// it waits for and, for a communication whose last rank is another, that rank's part of it.
std::vector<Cause> causes_of(const Timeline& timeline, const SpanIndex& index, SpanPosition at);

/// True where the timeline says which ops wait for which. Without that, causes_of knows streams and
/// rendezvous only, and there is no critical path.
bool knows_causes(const Timeline& timeline);

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
  db::TimelineOp sample;  ///< its kind is empty for the gaps
  std::size_t steps = 0;
  double seconds = 0;
};

/// By kind, longest first; the gaps are a part of their own. The parts add up to the path.
std::vector<PathPart> path_parts(const Timeline& timeline, const std::vector<PathStep>& path);

}  // namespace viewer
