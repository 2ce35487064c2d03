#include "db/timeline/trace_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace db {

void EventList::add(std::string_view event) {
  file_.write(first_ ? "\n" : ",\n");
  file_.write(event);
  first_ = false;
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(std::int64_t nanoseconds) {
  return fmt::format("{:.3f}", static_cast<double>(nanoseconds) / 1e3);
}

std::string metadata_event(const char* what, int pid, int tid, const std::string& key,
                           const std::string& value) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"{}":{}}}}})", what, pid,
                     tid, key, value);
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::vector<Track> tracks_of(const Timeline& timeline) {
  std::map<std::pair<int, std::string>, int> rows;  // by stream: the most on a rank
  for (const Lane& lane : timeline.lanes) {
    int& most = rows[{stream_order(lane.stream), lane.stream}];
    most = std::max(most, lane.row + 1);
  }
  int first_id = 0;
  for (auto& [stream, count] : rows) first_id += std::exchange(count, first_id);
  std::vector<Track> tracks;
  for (const Lane& lane : timeline.lanes) {
    const int id = rows.at({stream_order(lane.stream), lane.stream}) + lane.row;
    tracks.push_back(
        {id, lane.row == 0 ? lane.stream : fmt::format("{} ({})", lane.stream, lane.row + 1)});
  }
  return tracks;
}

std::string span_event(const TimelineOp& op, const LaneSpan& span, const std::string& name,
                       const std::string& category, int pid, int tid, const std::string& more) {
  const std::int64_t start_ns = nanoseconds(span.start_s);
  return fmt::format(R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},)"
                     R"("args":{{"op":{},"kind":{},"phase":{},"layer":{},"chunk":{},"chunks":{},)"
                     R"("bytes":{},"flops":{}{}}}}})",
                     json_string(name), json_string(category), pid, tid, microseconds(start_ns),
                     microseconds(nanoseconds(span.end_s) - start_ns), op.op, json_string(op.kind),
                     json_string(op.phase), op.layer, op.chunk, op.chunks, span.bytes, span.flops,
                     more);
}

std::string counter_event(const char* name, int pid, std::int64_t at_ns, const std::string& value) {
  return fmt::format(R"({{"name":"{}","ph":"C","pid":{},"tid":0,"ts":{},"args":{{"value":{}}}}})",
                     name, pid, microseconds(at_ns), value);
}

void add_flow(EventList& events, const std::string& name, const char* category, std::int64_t id,
              FlowEnd from, FlowEnd to) {
  const auto end = [&](const char* phase, const char* binding, const FlowEnd& place) {
    events.add(
        fmt::format(R"({{"name":{},"cat":"{}","ph":"{}","id":{},"pid":{},"tid":{},"ts":{}{}}})",
                    json_string(name), category, phase, id, place.pid, place.tid,
                    microseconds(place.at_ns), binding));
  };
  end("s", "", from);
  end("f", R"(,"bp":"e")", to);
}

}  // namespace db
