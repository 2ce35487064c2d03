#include "viewer/timeline/layout.h"

#include <algorithm>
#include <cmath>

namespace viewer {

TimeRange stack_extent(std::span<const StackEntry> stack) {
  TimeRange extent;
  for (const StackEntry& entry : stack) {
    extent.end_s = std::max(extent.end_s, entry.timeline->extent.length_s());
  }
  return extent;
}

AxisMap axis_map(const Timeline& timeline, bool own_axis, TimeRange extent) {
  const double length_s = timeline.extent.length_s();
  const bool stretch = own_axis && length_s > 0 && extent.length_s() > 0;
  return {timeline.extent.begin_s, stretch ? extent.length_s() / length_s : 1.0};
}

const PlacedLane* StackLayout::lane_at(float y) const {
  const auto after = std::partition_point(lanes.begin(), lanes.end(), [&](const PlacedLane& lane) {
    return lane.y + lane.height <= y;
  });
  return after != lanes.end() && y >= after->y ? &*after : nullptr;
}

const PlacedStrip* StackLayout::strip_at(float y) const {
  const auto found = std::find_if(strips.begin(), strips.end(), [&](const PlacedStrip& strip) {
    return y >= strip.y && y < strip.y + strip.height;
  });
  return found == strips.end() ? nullptr : &*found;
}

namespace {

bool is_minor(const Lane& lane) { return lane.stream == "copy" || lane.stream == "host"; }

}  // namespace

StackLayout lay_out(std::span<const StackEntry> stack, float available, const LayoutSizes& sizes) {
  StackLayout layout;
  float fixed = 0;
  float weight = 0;
  float minor = 0;  // lanes
  for (std::size_t s = 0; s < stack.size(); ++s) {
    fixed += sizes.header + (stack[s].memory != nullptr ? sizes.strip : 0);
    const std::vector<Lane>& of = stack[s].timeline->lanes;
    for (std::size_t l = 0; l < of.size(); ++l) {
      const bool first_of_rank = l == 0 || of[l].rank != of[l - 1].rank;
      const bool first_of_stream = first_of_rank || of[l].stream != of[l - 1].stream;
      layout.lanes.push_back({s, l, 0, 0, first_of_rank, first_of_stream});
      fixed += first_of_rank ? sizes.rank_gap : 0;
      weight += is_minor(of[l]) ? sizes.minor_share : 1;
      minor += is_minor(of[l]) ? 1 : 0;
    }
  }
  float share = weight > 0 ? (available - fixed) / weight : 0;
  if (share * sizes.minor_share < sizes.shortest_minor && weight > minor * sizes.minor_share) {
    // Minor lanes get their least height, the others share the rest.
    share =
        (available - fixed - minor * sizes.shortest_minor) / (weight - minor * sizes.minor_share);
  }
  const float height = std::clamp(std::floor(share), sizes.shortest_lane, sizes.tallest_lane);
  const float minor_height =
      std::max(std::floor(height * sizes.minor_share), std::min(sizes.shortest_minor, height));

  std::size_t next = 0;
  for (std::size_t s = 0; s < stack.size(); ++s) {
    layout.headers.push_back({s, layout.height, sizes.header});
    layout.height += sizes.header;
    if (stack[s].memory != nullptr) {
      const float gap = sizes.strip * 0.06F;
      layout.strips.push_back({s, layout.height + gap, sizes.strip - gap});
      layout.height += sizes.strip;
    }
    for (; next < layout.lanes.size() && layout.lanes[next].stack == s; ++next) {
      PlacedLane& lane = layout.lanes[next];
      layout.height += lane.first_of_rank ? sizes.rank_gap : 0;
      lane.y = layout.height;
      lane.height = is_minor(stack[s].timeline->lanes[lane.lane]) ? minor_height : height;
      layout.height += lane.height;
    }
  }
  return layout;
}

}  // namespace viewer
