#include "db/trace_events.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

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

std::string span_event(const TrackSpan& placed, const std::string& name,
                       const std::string& category, int pid, int tid, const std::string& more) {
  const auto& [span, op, interval] = placed;
  return fmt::format(
      R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},)"
      R"("args":{{"op":{},"kind":{},"phase":{},"layer":{},"chunk":{},"chunks":{},)"
      R"("bytes":{},"flops":{}{}}}}})",
      json_string(name), json_string(category), pid, tid, microseconds(interval.start_ns),
      microseconds(interval.end_ns - interval.start_ns), op->op, json_string(op->kind),
      json_string(op->phase), op->layer, op->chunk, op->chunks, span->bytes, span->flops, more);
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
