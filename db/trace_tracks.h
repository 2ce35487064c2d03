#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// The spans of a timeline on tracks, as trace viewers show them. What the trace-event format calls
/// a thread is a track here.
namespace db {

/// Nanoseconds from the timeline's begin.
struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// Lane of each span of one rank and stream, 0 the first: spans of a lane follow or enclose one
/// another and never overlap in part, which is what the trace-event format demands of a thread.
/// `start_ns` ascending, of equal ones the longer first.
std::vector<int> assign_lanes(std::span<const Interval> intervals);

struct TrackSpan {
  const Span* span = nullptr;
  const TimelineOp* op = nullptr;
  Interval interval;
};

/// One lane of one stream of one rank, its spans by start.
struct Track {
  int rank = 0;
  int id = 0;  ///< the same for a stream and lane on every rank
  std::string name;
  std::vector<TrackSpan> spans;
};

/// A timeline with everything that its tracks point into. Move-only.
struct TimelineTracks {
  Timeline timeline;
  std::vector<TimelineOp> ops;
  std::vector<Span> spans;
  std::vector<Track> tracks;  ///< by stream (compute, inter_node, intra_node, copy, host, others by
                              ///< name), then rank, then lane

  TimelineTracks() = default;
  TimelineTracks(TimelineTracks&&) = default;
  TimelineTracks& operator=(TimelineTracks&&) = default;
};

/// Throws Error (corrupt) where a span is of an op that the timeline does not describe.
TimelineTracks load_tracks(const Connection& connection, const Timeline& timeline);

/// The ranks that have spans, ascending.
std::vector<int> ranks_of(const TimelineTracks& tracks);

}  // namespace db
