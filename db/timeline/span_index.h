#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "db/timeline/timeline.h"

/// Where the spans of an op are, and when ranks computed: what questions about single spans are
/// answered from. Made once per timeline, in time linear in its spans.
namespace db {

struct SpanIndex {
  std::vector<std::vector<SpanPosition>> spans;  ///< [op]: by lane, then time
  /// By rank: when at least one computation ran.
  std::map<int, std::vector<TimeInterval>> computation;

  /// The spans of `Timeline::ops[op]`.
  std::span<const SpanPosition> of(std::int32_t op) const;
};

SpanIndex index_spans(const Timeline& timeline);

/// Makes an index in many steps, so that no frame waits for all of it.
class SpanIndexBuilder {
 public:
  /// Takes steps of at most some thousand spans, until `is_over` says that the time is over or all
  /// is done. Returns whether all is done. The timeline must be complete, and the same at each
  /// call.
  bool go_on(const Timeline& timeline, const std::function<bool()>& is_over);
  /// The index, once all is done.
  SpanIndex take() { return std::move(index_); }

 private:
  void count(const Timeline& timeline, const Lane& lane, std::size_t end);
  void append(const Timeline& timeline, const Lane& lane, std::size_t end);

  SpanIndex index_;
  std::vector<std::size_t> counts_;  // spans of each op
  std::set<int> unsorted_;           // ranks whose computations do not come by start
  bool counted_ = false;
  std::size_t lane_ = 0, span_ = 0;  // the next to be counted, or to be appended
};

const LaneSpan& span_at(const Timeline& timeline, SpanPosition at);
const TimelineOp& op_at(const Timeline& timeline, SpanPosition at);
int rank_at(const Timeline& timeline, SpanPosition at);

/// Seconds of the part of a communication inside `range` during which its rank computed nothing; 0
/// for spans of other activities.
double exposed_s(const Timeline& timeline, const SpanIndex& index, SpanPosition at,
                 TimeInterval range);

/// The same of the whole span, found without an index: for a single span of a timeline of any size.
double exposed_s(const Timeline& timeline, SpanPosition at);

}  // namespace db
