#include "db/timeline/collective.h"

#include <algorithm>
#include <map>
#include <utility>

#include "db/timeline/activity.h"

namespace db {

namespace {

// The lowest rank of the group that a rank exchanges with; one for all where that is not known.
int first_of_group(const Timeline& timeline, const TimelineOp& op, int rank) {
  const auto kind = timeline.first_rank.find(op.group_kind);
  if (kind == timeline.first_rank.end()) return -1;
  const auto found = kind->second.find(rank);
  return found == kind->second.end() ? rank : found->second;
}

double start_of(const Timeline& timeline, SpanPosition at) { return span_at(timeline, at).start_s; }

std::size_t last_part(const Timeline& timeline, const std::vector<SpanPosition>& parts) {
  const auto last =
      std::max_element(parts.begin(), parts.end(), [&](SpanPosition a, SpanPosition b) {
        return start_of(timeline, a) < start_of(timeline, b);
      });
  return static_cast<std::size_t>(last - parts.begin());
}

}  // namespace

std::vector<Collective> collectives_of(const Timeline& timeline, const SpanIndex& index,
                                       std::int32_t op) {
  const TimelineOp& what = timeline.ops[static_cast<std::size_t>(op)];
  if (activity_of(what) != Activity::communication) return {};
  std::map<int, std::vector<SpanPosition>> by_rank;
  for (const SpanPosition at : index.of(op)) by_rank[rank_at(timeline, at)].push_back(at);
  // The n-th time that a rank does it belongs to the n-th time of the others.
  std::map<std::pair<int, std::size_t>, Collective> found;  // (group, n)
  for (auto& [rank, spans] : by_rank) {
    std::stable_sort(spans.begin(), spans.end(), [&](SpanPosition a, SpanPosition b) {
      return start_of(timeline, a) < start_of(timeline, b);
    });
    const int group = first_of_group(timeline, what, rank);
    for (std::size_t n = 0; n < spans.size(); ++n) found[{group, n}].parts.push_back(spans[n]);
  }
  std::vector<Collective> collectives;
  for (auto& [key, collective] : found) {
    collective.last = last_part(timeline, collective.parts);
    collectives.push_back(std::move(collective));
  }
  return collectives;
}

std::optional<Collective> collective_at(const Timeline& timeline, const SpanIndex& index,
                                        SpanPosition at) {
  for (Collective& collective : collectives_of(timeline, index, span_at(timeline, at).op)) {
    const auto part = std::find(collective.parts.begin(), collective.parts.end(), at);
    if (part != collective.parts.end()) return std::move(collective);
  }
  return std::nullopt;
}

bool meet(const Timeline& timeline, const Collective& collective) {
  const std::size_t ranks =
      timeline.first_rank.empty() ? timeline.ledgers.size() : collective.parts.size();
  if (ranks < 2 || collective.parts.size() != ranks) return false;
  double first_end_s = span_at(timeline, collective.parts.front()).end_s;
  for (const SpanPosition at : collective.parts) {
    first_end_s = std::min(first_end_s, span_at(timeline, at).end_s);
  }
  return start_of(timeline, collective.parts[collective.last]) <= first_end_s;
}

TimeInterval waiting_of(const Timeline& timeline, const Collective& collective, SpanPosition at) {
  const LaneSpan& span = span_at(timeline, at);
  const double last_s = start_of(timeline, collective.parts[collective.last]);
  return {span.start_s, std::clamp(last_s, span.start_s, span.end_s)};
}

std::optional<SpanPosition> kept_by(const Timeline& timeline, SpanPosition at) {
  const double begin_s = start_of(timeline, at);
  const int rank = rank_at(timeline, at);
  std::optional<SpanPosition> last;
  const auto key = [&](SpanPosition before) {
    const bool computes = activity_of(op_at(timeline, before)) == Activity::computation;
    return std::pair(span_at(timeline, before).end_s, computes);
  };
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const Lane& lane = timeline.lanes[l];
    if (lane.rank != rank) continue;
    const auto after = std::partition_point(
        lane.spans.begin(), lane.spans.end(),
        [&](const LaneSpan& span) { return span.end_s <= begin_s + kTouching_s; });
    if (after == lane.spans.begin()) continue;
    const SpanPosition before{l, static_cast<std::size_t>(after - lane.spans.begin()) - 1};
    if (before == at) continue;
    if (!last || key(before) > key(*last)) last = before;
  }
  return last;
}

std::vector<Lateness> lateness(const Timeline& timeline, const SpanIndex& index,
                               TimeInterval range) {
  std::map<int, Lateness> ranks;
  const auto add = [&](const Collective& collective) {
    double first_s = start_of(timeline, collective.parts.front());
    for (const SpanPosition at : collective.parts) {
      first_s = std::min(first_s, start_of(timeline, at));
    }
    if (first_s < range.begin_s || first_s >= range.end_s) return;
    double waited_s = 0;
    for (const SpanPosition at : collective.parts) {
      Lateness& of = ranks[rank_at(timeline, at)];
      const double waiting_s = waiting_of(timeline, collective, at).length_s();
      of.rank = rank_at(timeline, at);
      ++of.communications;
      of.waiting_s += waiting_s;
      of.transfer_s += span_at(timeline, at).duration_s() - waiting_s;
      of.mean_late_s += start_of(timeline, at) - first_s;
      waited_s += waiting_s;
    }
    Lateness& last = ranks[rank_at(timeline, collective.parts[collective.last])];
    last.caused_s += waited_s;
    if (waited_s > 0) ++last.times_last;
  };
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    for (const Collective& collective :
         collectives_of(timeline, index, static_cast<std::int32_t>(op))) {
      if (collective.parts.size() > 1) add(collective);
    }
  }
  std::vector<Lateness> sorted;
  for (auto& [rank, of] : ranks) {
    of.mean_late_s /= of.communications;
    sorted.push_back(of);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Lateness& a, const Lateness& b) { return a.caused_s > b.caused_s; });
  return sorted;
}

}  // namespace db
