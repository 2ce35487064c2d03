#include "db/timeline/exposure.h"

#include <algorithm>
#include <map>
#include <utility>

#include "db/timeline/activity.h"
#include "db/timeline/cause.h"
#include "db/timeline/collective.h"
#include "db/timeline/op_label.h"
#include "db/timeline/op_table.h"
#include "db/timeline/span_index.h"

namespace db {

namespace {

struct Computed {
  double begin_s = 0;
  double end_s = 0;
  std::int32_t op = 0;
};

/// What a rank computed: ascending ends, and with them starts, since streams run in order.
using RankWork = std::vector<Computed>;

std::map<int, RankWork> work_of_ranks(const Timeline& timeline) {
  std::map<int, RankWork> work;
  for (const Lane& lane : timeline.lanes) {
    RankWork& rank = work[lane.rank];
    for (const LaneSpan& span : lane.spans) {
      if (activity_of(timeline.ops[span.op]) != Activity::computation) continue;
      rank.push_back({span.start_s, span.end_s, span.op});
    }
  }
  for (auto& [rank, of_rank] : work) {
    std::sort(of_rank.begin(), of_rank.end(),
              [](const Computed& a, const Computed& b) { return a.end_s < b.end_s; });
  }
  return work;
}

// The first op that was computed on the rank and ended after `time_s`.
RankWork::const_iterator ending_after(const RankWork& work, double time_s) {
  return std::partition_point(work.begin(), work.end(),
                              [&](const Computed& c) { return c.end_s <= time_s; });
}

std::string computed_after(const Timeline& timeline, const RankWork& work, double time_s) {
  const auto after = std::find_if(ending_after(work, time_s), work.end(),
                                  [&](const Computed& c) { return c.begin_s >= time_s; });
  return after == work.end() ? "" : op_label(timeline.ops[after->op]);
}

/// What the questions about one timeline are answered from.
struct Asked {
  const Timeline& timeline;
  const SpanIndex& spans;
  const std::map<int, RankWork>& work;
};

/// The exposed waiting of an op, summed over ranks.
struct Waiting {
  double sum_s = 0;
  double longest_s = 0;  // of a collective
};

void add_waiting(const Asked& asked, const Collective& collective, Waiting& waiting,
                 ExposedOp& op) {
  const SpanPosition last = collective.parts[collective.last];
  double waiting_s = 0, from_s = span_at(asked.timeline, last).start_s;
  for (const SpanPosition at : collective.parts) {
    from_s = std::min(from_s, span_at(asked.timeline, at).start_s);
    waiting_s +=
        exposed_s(asked.timeline, asked.spans, at, waiting_of(asked.timeline, collective, at));
  }
  waiting.sum_s += waiting_s;
  op.waiting_s = waiting.sum_s;
  if (waiting_s <= waiting.longest_s) return;
  waiting.longest_s = waiting_s;
  const std::optional<Hold> hold = held_up_by(asked.timeline, asked.spans, last, from_s);
  op.late = LateRank{rank_at(asked.timeline, last),
                     hold ? op_label(op_at(asked.timeline, hold->at)) : ""};
}

// What was computed after the spans of a row on most ranks.
std::string computed_next(const Asked& asked, const OpRow& row) {
  std::map<std::string, int> nexts;
  for (const std::int32_t op : row.ops) {
    for (const SpanPosition at : asked.spans.of(op)) {
      const std::string next =
          computed_after(asked.timeline, asked.work.at(rank_at(asked.timeline, at)),
                         span_at(asked.timeline, at).end_s);
      if (!next.empty()) ++nexts[next];
    }
  }
  const auto most = std::max_element(
      nexts.begin(), nexts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == nexts.end() ? "" : most->first;
}

ExposedOp exposed_op(const Asked& asked, const OpRow& row, bool knows_groups) {
  const auto ranks = asked.work.size();
  const auto share = 1 / static_cast<double>(std::max<std::size_t>(ranks, 1));
  ExposedOp op;
  op.sample = row.sample;
  op.duration_s = row.total_s * share;
  op.exposed_s = row.exposed_s * share;
  op.next = computed_next(asked, row);
  if (!knows_groups) return op;
  Waiting waiting;
  for (const std::int32_t index : row.ops) {
    for (const Collective& collective : collectives_of(asked.timeline, asked.spans, index)) {
      // A part may end before another begins: a rank with nothing to receive does not wait.
      const bool is_one = asked.timeline.first_rank.empty() ? meet(asked.timeline, collective)
                                                            : collective.parts.size() > 1;
      if (!is_one) continue;
      add_waiting(asked, collective, waiting, op);
    }
  }
  if (op.waiting_s) *op.waiting_s *= share;
  return op;
}

}  // namespace

std::vector<ExposedOp> exposed_ops(const Timeline& timeline, const SpanIndex& index,
                                   bool all_together) {
  const std::map<int, RankWork> work = work_of_ranks(timeline);
  const Asked asked{timeline, index, work};
  const bool knows_groups = all_together || !timeline.first_rank.empty();
  const TimeInterval all{std::min(timeline.extent.begin_s, timeline.recorded.begin_s),
                         std::max(timeline.extent.end_s, timeline.recorded.end_s)};
  std::vector<ExposedOp> ops;
  for (const OpRow& row : op_table(timeline, index, all, OpGrouping::op)) {
    if (activity_of(row.sample) != Activity::communication) continue;
    ops.push_back(exposed_op(asked, row, knows_groups));
  }
  std::stable_sort(ops.begin(), ops.end(), [](const ExposedOp& a, const ExposedOp& b) {
    return a.exposed_s > b.exposed_s;
  });
  return ops;
}

}  // namespace db
