#include "db/timeline/trace_arrows.h"

#include <algorithm>
#include <map>

#include "db/timeline/collective.h"
#include "db/timeline/trace_events.h"

namespace db {

std::vector<TraceArrow> dependency_arrows(const Timeline& timeline, const SpanIndex& index) {
  std::vector<TraceArrow> arrows;
  for (std::size_t op = 0; op < timeline.waits_for.size(); ++op) {
    for (const SpanPosition to : index.of(static_cast<std::int32_t>(op))) {
      for (const std::int32_t before : timeline.waits_for[op]) {
        const auto spans = index.of(before);
        const auto from = std::find_if(spans.begin(), spans.end(), [&](SpanPosition at) {
          return rank_at(timeline, at) == rank_at(timeline, to);
        });
        if (from == spans.end() || from->lane == to.lane) continue;
        const LaneSpan& span = span_at(timeline, *from);
        const std::int64_t start_ns = nanoseconds(span.start_s);
        arrows.push_back({*from, to, std::max(start_ns, nanoseconds(span.end_s) - 1),
                          nanoseconds(span_at(timeline, to).start_s)});
      }
    }
  }
  return arrows;
}

std::vector<TraceArrow> rendezvous_arrows(const Timeline& timeline, const SpanIndex& index,
                                          bool all_together) {
  std::vector<TraceArrow> arrows;
  if (timeline.first_rank.empty() && !all_together) return arrows;
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    for (const Collective& one : collectives_of(timeline, index, static_cast<std::int32_t>(op))) {
      if (!meet(timeline, one)) continue;
      const SpanPosition last = one.parts[one.last];
      const std::int64_t at_ns = nanoseconds(span_at(timeline, last).start_s);
      for (const SpanPosition at : one.parts) {
        const bool waited = nanoseconds(span_at(timeline, at).start_s) != at_ns;
        if (at != last && waited) arrows.push_back({last, at, at_ns, at_ns});
      }
    }
  }
  return arrows;
}

}  // namespace db
