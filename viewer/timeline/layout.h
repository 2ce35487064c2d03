#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viewer/model/rank_rows.h"
#include "viewer/model/timeline.h"

/// Where the lanes of stacked timelines go, and how their times map onto one axis. No drawing here.
namespace viewer {

/// One timeline of the stack; borrowed for a frame.
struct StackEntry {
  const Timeline* timeline = nullptr;
  std::string title;       ///< the schedule of the timeline
  std::string source;      ///< the run and iteration that it was recorded in; may be empty
  std::string comparison;  ///< see comparison_text(); may be empty
  /// What it is compared with where that is wanted: the prediction of a measured timeline, or the
  /// measured timeline of a prediction. Null where there is none.
  const Timeline* beside = nullptr;
  /// The largest of its ranks' clocks; 0 for a prediction, none where a clock was not compared.
  std::optional<double> clock_error_s = 0;
  /// [rank]: its node; null or empty where the database does not say.
  const std::map<int, int>* nodes = nullptr;
  /// Which ranks have lanes, and which nodes a band; null for all ranks by number.
  const RankRows* rows = nullptr;
  /// The memory of its ranks while that is shown; null otherwise.
  const MemoryTable* memory = nullptr;
};

/// Axis seconds count from the begin of a timeline. On an own axis every timeline is stretched
/// to the longest one's length, which makes shapes comparable where durations are not.
struct AxisMap {
  double origin_s = 0;
  double scale = 1;

  double to_axis(double time_s) const { return (time_s - origin_s) * scale; }
  double to_time(double axis_s) const { return axis_s / scale + origin_s; }
  TimeRange to_time(TimeRange axis) const { return {to_time(axis.begin_s), to_time(axis.end_s)}; }
  TimeRange to_axis(TimeRange time) const { return {to_axis(time.begin_s), to_axis(time.end_s)}; }
};

/// The part of the axis that holds all timelines of the stack: [0, longest].
TimeRange stack_extent(std::span<const StackEntry> stack);

AxisMap axis_map(const Timeline& timeline, bool own_axis, TimeRange extent);

struct PlacedLane {
  std::size_t stack = 0;
  std::size_t lane = 0;
  float y = 0;  ///< top, from the top of the stack
  float height = 0;
  bool first_of_rank = false;
  bool first_of_stream = false;
};

struct PlacedHeader {
  std::size_t stack = 0;
  float y = 0;
  float height = 0;
};

/// The band of a node: what its ranks did, pixel by pixel.
struct PlacedBand {
  std::size_t stack = 0;
  std::size_t node = 0;  ///< its place in RankRows::nodes
  float y = 0;
  float height = 0;
};

/// The strip above the lanes of a timeline that shows the memory of one of its ranks. However many
/// lanes there are, it is seen with the title.
struct PlacedStrip {
  std::size_t stack = 0;
  float y = 0;
  float height = 0;
};

struct StackLayout {
  std::vector<PlacedHeader> headers;
  std::vector<PlacedLane> lanes;    ///< the lanes by y
  std::vector<PlacedBand> bands;    ///< by y
  std::vector<PlacedStrip> strips;  ///< of timelines whose memory is shown, by y
  /// [stack][lane]: the place in `lanes`, beyond its end for one that is not shown.
  std::vector<std::vector<std::size_t>> places;
  float height = 0;

  /// The lane at height y, or null.
  const PlacedLane* lane_at(float y) const;
  /// The band at height y, or null.
  const PlacedBand* band_at(float y) const;
  /// The strip at height y, or null.
  const PlacedStrip* strip_at(float y) const;
};

struct LayoutSizes {
  float header = 26;
  float rank_gap = 5;
  float shortest_lane = 14;
  float tallest_lane = 28;
  float minor_share = 0.6F;   ///< height of copy and host lanes over that of others
  float shortest_minor = 12;  ///< their labels must not touch
  float band = 20;            ///< of a node, with the gap above it
  float strip = 60;           ///< of memory, with the gap above it
};

/// Lanes share the height that headers leave of `available`, within the bounds of `sizes`.
StackLayout lay_out(std::span<const StackEntry> stack, float available, const LayoutSizes& sizes);

}  // namespace viewer
