#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/connection.h"
#include "viewer/model/timeline.h"

/// Reads the spans of timelines beside the drawing of frames. No drawing here.
namespace viewer {

/// Reads one timeline, on threads of its own with connections of their own, rank after rank.
class TimelineLoader {
 public:
  /// Starts reading. `connection` is used for the ops, their edges and the ranks; threads open the
  /// database of the same path. Throws db::Error.
  TimelineLoader(const db::Connection& connection, const db::TimelineInfo& info);
  TimelineLoader(const TimelineLoader&) = delete;
  TimelineLoader& operator=(const TimelineLoader&) = delete;
  /// Stops reading.
  ~TimelineLoader();

  /// The timeline without spans, to begin with.
  Timeline begun() const;
  /// Appends the ranks that were read since the last call, in their order, and marks the timeline
  /// complete with the last one. Returns whether anything was appended. Throws db::Error where
  /// reading failed.
  bool deliver(Timeline& timeline);
  /// Waits until there is something to deliver, for at most `seconds`.
  void wait(double seconds);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace viewer
