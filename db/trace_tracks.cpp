#include "db/trace_tracks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "db/load.h"

namespace db {
namespace {

// Streams in the order in which a reader looks for them; others follow by name.
int stream_place(const std::string& stream) {
  constexpr std::array<std::string_view, 5> kKnown{"compute", "inter_node", "intra_node", "copy",
                                                   "host"};
  return static_cast<int>(std::find(kKnown.begin(), kKnown.end(), stream) - kKnown.begin());
}

using Streams = std::map<std::pair<int, std::string>, std::map<int, std::vector<TrackSpan>>>;

Streams spans_by_stream(const Connection& connection, const TimelineTracks& of) {
  std::unordered_map<int, const TimelineOp*> op_of;
  for (const TimelineOp& op : of.ops) op_of[op.op] = &op;
  Streams streams;
  for (const Span& span : of.spans) {
    const auto found = op_of.find(span.op);
    if (found == op_of.end()) {
      throw Error(ErrorKind::corrupt,
                  fmt::format("{}: timeline {} has a span of op {}, which it does not describe",
                              connection.path(), of.timeline.id, span.op));
    }
    const TimelineOp& op = *found->second;
    const Interval interval{std::llround(span.start_s * 1e9),
                            std::llround((span.start_s + span.duration_s) * 1e9)};
    streams[{stream_place(op.stream), op.stream}][span.rank].push_back({&span, &op, interval});
  }
  return streams;
}

// The spans of a rank and stream on as many tracks as they need.
std::vector<Track> lanes_of(const std::string& stream, int rank, std::vector<TrackSpan> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const TrackSpan& a, const TrackSpan& b) {
    return a.interval.start_ns != b.interval.start_ns ? a.interval.start_ns < b.interval.start_ns
                                                      : a.interval.end_ns > b.interval.end_ns;
  });
  std::vector<Interval> intervals;
  for (const TrackSpan& span : spans) intervals.push_back(span.interval);
  const std::vector<int> lanes = assign_lanes(intervals);
  std::vector<Track> tracks;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto lane = static_cast<std::size_t>(lanes[i]);
    while (tracks.size() <= lane) {
      const std::string name =
          tracks.empty() ? stream : fmt::format("{} ({})", stream, tracks.size() + 1);
      tracks.push_back({rank, static_cast<int>(tracks.size()), name, {}});
    }
    tracks[lane].spans.push_back(spans[i]);
  }
  return tracks;
}

}  // namespace

std::vector<int> assign_lanes(std::span<const Interval> intervals) {
  std::vector<std::vector<std::int64_t>> open;  // per lane, the ends of the spans around this point
  std::vector<int> lanes;
  lanes.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    std::size_t lane = 0;
    for (;; ++lane) {
      if (lane == open.size()) open.emplace_back();
      auto& ends = open[lane];
      while (!ends.empty() && ends.back() <= interval.start_ns) ends.pop_back();
      if (ends.empty() || interval.end_ns <= ends.back()) break;
    }
    open[lane].push_back(interval.end_ns);
    lanes.push_back(static_cast<int>(lane));
  }
  return lanes;
}

TimelineTracks load_tracks(const Connection& connection, const Timeline& timeline) {
  TimelineTracks loaded;
  loaded.timeline = timeline;
  loaded.ops = load_timeline_ops(connection, timeline.id);
  loaded.spans = load_spans(connection, timeline.id);
  int first_id = 0;
  for (auto& [stream, ranks] : spans_by_stream(connection, loaded)) {
    int lanes = 0;
    for (auto& [rank, spans] : ranks) {
      for (Track& track : lanes_of(stream.second, rank, std::move(spans))) {
        lanes = std::max(lanes, track.id + 1);
        track.id += first_id;
        loaded.tracks.push_back(std::move(track));
      }
    }
    first_id += lanes;
  }
  return loaded;
}

std::vector<int> ranks_of(const TimelineTracks& tracks) {
  std::set<int> ranks;
  for (const Track& track : tracks.tracks) ranks.insert(track.rank);
  return {ranks.begin(), ranks.end()};
}

}  // namespace db
