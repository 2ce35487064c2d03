#include "viewer/model/summary.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "viewer/model/op_class.h"

namespace viewer {

namespace {

// Calls visit(span, part of it inside range) for the spans of the lane that reach into range.
template <typename Visit>
void for_each_inside(const Lane& lane, TimeRange range, const Visit& visit) {
  for (std::size_t i = first_ending_after(lane, range.begin_s); i < lane.spans.size(); ++i) {
    const LaneSpan& span = lane.spans[i];
    if (span.start_s >= range.end_s) break;
    visit(span,
          TimeRange{std::max(span.start_s, range.begin_s), std::min(span.end_s, range.end_s)});
  }
}

struct RankIntervals {
  std::vector<TimeRange> computation;
  std::vector<TimeRange> communication;
  std::vector<TimeRange> anything;
};

std::vector<StreamBusy> idle_streams(const Timeline& timeline) {
  std::vector<StreamBusy> streams;
  for (const Lane& lane : timeline.lanes) {
    const bool known = std::any_of(streams.begin(), streams.end(), [&](const StreamBusy& busy) {
      return busy.stream == lane.stream;
    });
    if (!known) streams.push_back({lane.stream, 0});
  }
  std::stable_sort(streams.begin(), streams.end(), [](const StreamBusy& a, const StreamBusy& b) {
    return stream_order(a.stream) < stream_order(b.stream);
  });
  return streams;
}

StreamBusy& find_stream(RankSummary& rank, const std::string& stream) {
  return *std::find_if(rank.streams.begin(), rank.streams.end(),
                       [&](const StreamBusy& busy) { return busy.stream == stream; });
}

RankSummary finish(RankSummary summary, RankIntervals intervals, TimeRange range) {
  const Intervals computation = merged(std::move(intervals.computation));
  const Intervals communication = merged(std::move(intervals.communication));
  summary.computation_s = total_length_s(computation);
  summary.communication_s = total_length_s(communication);
  summary.covered_s = common_length_s(computation, communication);
  summary.idle_s = range.length_s() - total_length_s(merged(std::move(intervals.anything)));
  return summary;
}

}  // namespace

Intervals merged(std::vector<TimeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.begin_s < b.begin_s; });
  Intervals joined;
  for (const TimeRange& range : ranges) {
    if (range.length_s() <= 0) continue;
    if (!joined.empty() && range.begin_s <= joined.back().end_s) {
      joined.back().end_s = std::max(joined.back().end_s, range.end_s);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

double common_length_s(const Intervals& a, const Intervals& b) {
  double common_s = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common_s +=
        std::max(0.0, std::min(a[i].end_s, b[j].end_s) - std::max(a[i].begin_s, b[j].begin_s));
    if (a[i].end_s < b[j].end_s) {
      ++i;
    } else {
      ++j;
    }
  }
  return common_s;
}

double total_length_s(const Intervals& intervals) {
  return std::accumulate(intervals.begin(), intervals.end(), 0.0,
                         [](double sum, const TimeRange& range) { return sum + range.length_s(); });
}

RankSummary Summary::mean() const {
  RankSummary mean;
  mean.rank = -1;
  if (ranks.empty()) return mean;
  mean.streams = ranks.front().streams;
  for (StreamBusy& stream : mean.streams) stream.busy_s = 0;
  const auto count = static_cast<double>(ranks.size());
  for (const RankSummary& rank : ranks) {
    for (std::size_t i = 0; i < mean.streams.size(); ++i)
      mean.streams[i].busy_s += rank.streams[i].busy_s / count;
    mean.computation_s += rank.computation_s / count;
    mean.communication_s += rank.communication_s / count;
    mean.covered_s += rank.covered_s / count;
    mean.idle_s += rank.idle_s / count;
  }
  return mean;
}

double Summary::mean_overlap() const { return mean().overlap(); }

double Summary::mean_idle() const {
  return range.length_s() > 0 ? mean().idle_s / range.length_s() : 0;
}

Summary summarize(const Timeline& timeline, TimeRange range) {
  Summary summary{range, {}};
  std::vector<OpClass> classes;
  for (const db::TimelineOp& op : timeline.ops) classes.push_back(classify(op));

  const std::vector<StreamBusy> streams = idle_streams(timeline);
  RankIntervals intervals;
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const Lane& lane = timeline.lanes[i];
    if (summary.ranks.empty() || summary.ranks.back().rank != lane.rank) {
      summary.ranks.push_back({lane.rank, streams});
      intervals = {};
    }
    RankSummary& rank = summary.ranks.back();
    StreamBusy& busy = find_stream(rank, lane.stream);
    for_each_inside(lane, range, [&](const LaneSpan& span, TimeRange inside) {
      busy.busy_s += inside.length_s();
      const OpClass op_class = classes[static_cast<std::size_t>(span.op)];
      if (op_class == OpClass::computation) intervals.computation.push_back(inside);
      if (op_class == OpClass::communication) intervals.communication.push_back(inside);
      intervals.anything.push_back(inside);
    });
    const bool last_of_rank =
        i + 1 == timeline.lanes.size() || timeline.lanes[i + 1].rank != lane.rank;
    if (last_of_rank) rank = finish(std::move(rank), std::move(intervals), range);
  }
  return summary;
}

std::vector<KindTime> time_by_kind(const Timeline& timeline, TimeRange range) {
  std::vector<KindTime> by_op(timeline.ops.size());
  for (const Lane& lane : timeline.lanes) {
    for_each_inside(lane, range, [&](const LaneSpan& span, TimeRange inside) {
      KindTime& of = by_op[static_cast<std::size_t>(span.op)];
      of.total_s += inside.length_s();
      ++of.spans;
    });
  }
  std::map<std::string, KindTime> by_kind;
  for (std::size_t i = 0; i < by_op.size(); ++i) {
    if (by_op[i].spans == 0) continue;
    KindTime& of = by_kind[timeline.ops[i].kind];
    of.kind = timeline.ops[i].kind;
    of.total_s += by_op[i].total_s;
    of.spans += by_op[i].spans;
  }
  std::vector<KindTime> sorted;
  for (auto& [kind, of] : by_kind) sorted.push_back(std::move(of));
  std::sort(sorted.begin(), sorted.end(),
            [](const KindTime& a, const KindTime& b) { return a.total_s > b.total_s; });
  return sorted;
}

}  // namespace viewer
