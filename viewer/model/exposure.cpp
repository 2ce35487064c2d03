#include "viewer/model/exposure.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "db/timeline_statistics.h"
#include "viewer/model/activity.h"
#include "viewer/model/collective.h"
#include "viewer/model/op_label.h"
#include "viewer/model/span_index.h"

namespace viewer {

namespace {

using Identity = std::tuple<std::string, std::string, std::string, int>;  // see ExposedOp

struct Computed {
  double begin_s = 0;
  double end_s = 0;
  std::int32_t op = 0;
};

/// What a rank computed.
struct RankWork {
  std::vector<TimeRange> merged;
  std::vector<Computed> by_end;  ///< ascending ends, and with them starts: streams run in order
};

struct Arrival {
  int rank = 0;
  TimeRange span;
};

std::map<int, RankWork> work_of_ranks(const Timeline& timeline) {
  std::map<int, RankWork> work;
  for (const Lane& lane : timeline.lanes) {
    RankWork& rank = work[lane.rank];
    for (const LaneSpan& span : lane.spans) {
      if (activity_of(timeline.ops[span.op]) != Activity::computation) continue;
      rank.merged.push_back({span.start_s, span.end_s});
      rank.by_end.push_back({span.start_s, span.end_s, span.op});
    }
  }
  for (auto& [rank, of_rank] : work) {
    of_rank.merged = db::merged(std::move(of_rank.merged));
    std::sort(of_rank.by_end.begin(), of_rank.by_end.end(),
              [](const Computed& a, const Computed& b) { return a.end_s < b.end_s; });
  }
  return work;
}

double exposed_part_s(TimeRange span, const RankWork& work) {
  return span.length_s() - db::covered_length_s(span, work.merged);
}

using Work = std::vector<Computed>::const_iterator;

// The first op that was computed on the rank and ended after `time_s`.
Work ending_after(const RankWork& work, double time_s) {
  return std::partition_point(work.by_end.begin(), work.by_end.end(),
                              [&](const Computed& c) { return c.end_s <= time_s; });
}

std::string computed_before(const Timeline& timeline, const RankWork& work, double time_s) {
  const Work after = ending_after(work, time_s);
  return after == work.by_end.begin() ? "" : op_label(timeline.ops[std::prev(after)->op]);
}

std::string computed_after(const Timeline& timeline, const RankWork& work, double time_s) {
  const Work after = std::find_if(ending_after(work, time_s), work.by_end.end(),
                                  [&](const Computed& c) { return c.begin_s >= time_s; });
  return after == work.by_end.end() ? "" : op_label(timeline.ops[after->op]);
}

// Whether the spans are one of each of the ranks, and all run at one time somewhere.
bool meet(const std::vector<Arrival>& arrivals, std::size_t ranks) {
  if (ranks < 2 || arrivals.size() != ranks) return false;
  double last_begin_s = arrivals.front().span.begin_s, first_end_s = arrivals.front().span.end_s;
  for (const Arrival& arrival : arrivals) {
    last_begin_s = std::max(last_begin_s, arrival.span.begin_s);
    first_end_s = std::min(first_end_s, arrival.span.end_s);
  }
  return last_begin_s <= first_end_s;
}

struct Sums {
  ExposedOp op;
  double longest_wait_s = 0;         // of a chunk
  std::map<std::string, int> nexts;  // how often each op was computed next
};

void add_waiting(Sums& sums, const std::vector<Arrival>& arrivals, const Timeline& timeline,
                 const std::map<int, RankWork>& work) {
  const Arrival& last = *std::max_element(
      arrivals.begin(), arrivals.end(),
      [](const Arrival& a, const Arrival& b) { return a.span.begin_s < b.span.begin_s; });
  double waiting_s = 0;
  for (const Arrival& arrival : arrivals) {
    const TimeRange wait{arrival.span.begin_s, last.span.begin_s};
    if (wait.length_s() > 0) waiting_s += exposed_part_s(wait, work.at(arrival.rank));
  }
  sums.op.waiting_s = sums.op.waiting_s.value_or(0) + waiting_s;
  if (waiting_s <= sums.longest_wait_s) return;
  sums.longest_wait_s = waiting_s;
  sums.op.late =
      LateRank{last.rank, computed_before(timeline, work.at(last.rank), last.span.begin_s)};
}

// The spans of each communication, by op.
std::map<std::int32_t, std::vector<Arrival>> arrivals_of(const Timeline& timeline) {
  std::map<std::int32_t, std::vector<Arrival>> arrivals;
  for (const Lane& lane : timeline.lanes) {
    for (const LaneSpan& span : lane.spans) {
      if (activity_of(timeline.ops[span.op]) != Activity::communication) continue;
      arrivals[span.op].push_back({lane.rank, {span.start_s, span.end_s}});
    }
  }
  return arrivals;
}

std::vector<Arrival> arrivals_of(const Timeline& timeline, const Collective& collective) {
  std::vector<Arrival> arrivals;
  for (const SpanPosition at : collective.parts) {
    const LaneSpan& span = span_at(timeline, at);
    arrivals.push_back({rank_at(timeline, at), {span.start_s, span.end_s}});
  }
  return arrivals;
}

}  // namespace

std::vector<ExposedOp> exposed_ops(const Timeline& timeline, bool all_together) {
  const SpanIndex spans = index_spans(timeline);
  const std::map<int, RankWork> work = work_of_ranks(timeline);
  const auto ranks = static_cast<double>(std::max<std::size_t>(work.size(), 1));
  std::map<Identity, Sums> by_identity;
  for (const auto& [index, arrivals] : arrivals_of(timeline)) {
    const db::TimelineOp& op = timeline.ops[index];
    Sums& sums = by_identity[{op.name, op.kind, op.phase, op.layer}];
    sums.op.name = op.name, sums.op.kind = op.kind;
    sums.op.phase = op.phase, sums.op.layer = op.layer;
    for (const Arrival& arrival : arrivals) {
      const RankWork& of_rank = work.at(arrival.rank);
      sums.op.duration_s += arrival.span.length_s();
      sums.op.exposed_s += exposed_part_s(arrival.span, of_rank);
      const std::string next = computed_after(timeline, of_rank, arrival.span.end_s);
      if (!next.empty()) ++sums.nexts[next];
    }
    if (!timeline.first_rank.empty()) {
      for (const Collective& collective : collectives_of(timeline, spans, index)) {
        const std::vector<Arrival> parts = arrivals_of(timeline, collective);
        if (meet(parts, parts.size())) add_waiting(sums, parts, timeline, work);
      }
    } else if (all_together && meet(arrivals, work.size())) {
      add_waiting(sums, arrivals, timeline, work);
    }
  }
  std::vector<ExposedOp> ops;
  for (auto& [identity, sums] : by_identity) {
    ExposedOp& op = sums.op;
    op.duration_s /= ranks, op.exposed_s /= ranks;
    if (op.waiting_s) *op.waiting_s /= ranks;
    const auto most =
        std::max_element(sums.nexts.begin(), sums.nexts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != sums.nexts.end()) op.next = most->first;
    ops.push_back(std::move(op));
  }
  std::stable_sort(ops.begin(), ops.end(), [](const ExposedOp& a, const ExposedOp& b) {
    return a.exposed_s > b.exposed_s;
  });
  return ops;
}

}  // namespace viewer
