#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/console/output_file.h"
#include "db/timeline/timeline.h"

/// The texts of Chrome trace events.
namespace db {

/// Writes events into the list of a trace, one a line.
class EventList {
 public:
  explicit EventList(OutputFile& file) : file_(file) {}
  void add(std::string_view event);

 private:
  OutputFile& file_;
  bool first_ = true;
};

/// The text as a JSON string; bytes that are not UTF-8 are replaced.
std::string json_string(const std::string& text);

/// Microseconds with three decimals.
std::string microseconds(std::int64_t nanoseconds);

/// What a process or a thread is called ("process_name"), or where it stands
/// ("process_sort_index"): `value` is JSON.
std::string metadata_event(const char* what, int pid, int tid, const std::string& key,
                           const std::string& value);

/// Nanoseconds from the timeline's begin.
std::int64_t nanoseconds(double seconds);

/// What the trace-event format calls a thread: a lane of a rank.
struct Track {
  int id = 0;        ///< the same for a stream and row on every rank
  std::string name;  ///< "compute", "compute (2)"
};
/// [lane]: its track. By stream (compute, inter_node, intra_node, copy, host, others by name).
std::vector<Track> tracks_of(const Timeline& timeline);

/// The span of an op, with `more` at the end of its args: "" or ", "key": value".
std::string span_event(const TimelineOp& op, const LaneSpan& span, const std::string& name,
                       const std::string& category, int pid, int tid, const std::string& more = "");

/// The value of a counter of a process from `at_ns` on; `value` is JSON.
std::string counter_event(const char* name, int pid, std::int64_t at_ns, const std::string& value);

/// Both ends of an arrow between spans that contain `from_ns` and `to_ns`.
struct FlowEnd {
  int pid = 0;
  int tid = 0;
  std::int64_t at_ns = 0;
};
void add_flow(EventList& events, const std::string& name, const char* category, std::int64_t id,
              FlowEnd from, FlowEnd to);

}  // namespace db
