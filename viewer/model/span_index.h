#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "viewer/model/timeline.h"

/// Where the spans of an op are, and when ranks computed: what questions about single spans are
/// answered from. Made once per timeline, in time linear in its spans.
namespace viewer {

struct SpanIndex {
  std::vector<std::size_t> first;   ///< [op]: its first place in `spans`; one longer than the ops
  std::vector<SpanPosition> spans;  ///< by op, then lane, then time
  /// By rank: when at least one computation ran.
  std::map<int, std::vector<TimeRange>> computation;

  /// The spans of `Timeline::ops[op]`.
  std::span<const SpanPosition> of(std::int32_t op) const;
};

SpanIndex index_spans(const Timeline& timeline);

const LaneSpan& span_at(const Timeline& timeline, SpanPosition at);
const db::TimelineOp& op_at(const Timeline& timeline, SpanPosition at);
int rank_at(const Timeline& timeline, SpanPosition at);

/// Seconds of the part of a communication inside `range` during which its rank computed nothing; 0
/// for spans of other activities.
double exposed_s(const Timeline& timeline, const SpanIndex& index, SpanPosition at,
                 TimeRange range);

/// The same of the whole span, found without an index: for a single span of a timeline of any size.
double exposed_s(const Timeline& timeline, SpanPosition at);

/// The part of `range` that lies in `bounds`; of no length where none does.
TimeRange common(TimeRange range, TimeRange bounds);

}  // namespace viewer
