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

namespace {

// Of boxes by y, the one at height y, or null.
template <typename Placed>
const Placed* placed_at(const std::vector<Placed>& all, float y) {
  const auto after = std::partition_point(
      all.begin(), all.end(), [&](const Placed& one) { return one.y + one.height <= y; });
  return after != all.end() && y >= after->y ? &*after : nullptr;
}

}  // namespace

const PlacedLane* StackLayout::lane_at(float y) const { return placed_at(lanes, y); }

const PlacedBand* StackLayout::band_at(float y) const { return placed_at(bands, y); }

const PlacedStrip* StackLayout::strip_at(float y) const { return placed_at(strips, y); }

namespace {

bool is_minor(const Lane& lane) { return lane.stream == "copy" || lane.stream == "host"; }

// What the heights of lanes are worked out from.
struct Demand {
  float fixed = 0;  // of headers, strips, gaps and bands
  float bands = 0;
  float weight = 0;  // of lanes
  float minor = 0;   // lanes of copies and host work

  void add(const StackEntry& entry, const RankRows& rows, const LayoutSizes& sizes) {
    fixed += sizes.header + (entry.memory != nullptr ? sizes.strip : 0);
    for (const RankRow& row : rows.rows) {
      fixed += row.is_node ? sizes.band : sizes.rank_gap;
      bands += row.is_node ? 1 : 0;
      if (row.is_node) continue;
      const TimeLedger& ledger = entry.timeline->ledgers[row.place];
      for (std::size_t l = 0; l < ledger.lanes; ++l) {
        const bool is_small = is_minor(entry.timeline->lanes[ledger.first_lane + l]);
        weight += is_small ? sizes.minor_share : 1;
        minor += is_small ? 1 : 0;
      }
    }
  }

  // Of a lane of computation or communication, in `available` px.
  float height(float available, const LayoutSizes& sizes) const {
    float share = weight > 0 ? (available - fixed) / weight : 0;
    if (share * sizes.minor_share < sizes.shortest_minor && weight > minor * sizes.minor_share) {
      // Minor lanes get their least height, the others share the rest.
      share =
          (available - fixed - minor * sizes.shortest_minor) / (weight - minor * sizes.minor_share);
    }
    return std::clamp(std::floor(share), sizes.shortest_lane, sizes.tallest_lane);
  }

  // Of a band: what is left where there are no lanes.
  float band_height(float available, const LayoutSizes& sizes) const {
    if (weight > 0 || bands == 0) return sizes.band;
    const float share = sizes.band + (available - fixed) / bands;
    return std::clamp(std::floor(share), sizes.band, std::max(sizes.band, sizes.tallest_lane));
  }
};

struct LaneHeights {
  float lane = 0;
  float minor = 0;
};

void place_rank(StackLayout& layout, std::size_t stack, const Timeline& timeline,
                const TimeLedger& ledger, LaneHeights heights) {
  for (std::size_t l = ledger.first_lane; l < ledger.first_lane + ledger.lanes; ++l) {
    const Lane& lane = timeline.lanes[l];
    PlacedLane placed{stack, l, layout.height, is_minor(lane) ? heights.minor : heights.lane};
    placed.first_of_rank = l == ledger.first_lane;
    placed.first_of_stream = placed.first_of_rank || lane.stream != timeline.lanes[l - 1].stream;
    layout.places[stack][l] = layout.lanes.size();
    layout.lanes.push_back(placed);
    layout.height += placed.height;
  }
}

}  // namespace

StackLayout lay_out(std::span<const StackEntry> stack, float available, const LayoutSizes& sizes) {
  StackLayout layout;
  std::vector<RankRows> all;
  all.reserve(stack.size());
  Demand demand;
  for (const StackEntry& entry : stack) {
    all.push_back(entry.rows == nullptr ? all_ranks(*entry.timeline) : *entry.rows);
    demand.add(entry, all.back(), sizes);
  }
  const float height = demand.height(available, sizes);
  const float band = demand.band_height(available, sizes);
  const LaneHeights heights{height, std::max(std::floor(height * sizes.minor_share),
                                             std::min(sizes.shortest_minor, height))};
  constexpr auto kHidden = static_cast<std::size_t>(-1);
  layout.places.resize(stack.size());
  for (std::size_t s = 0; s < stack.size(); ++s) {
    const Timeline& timeline = *stack[s].timeline;
    layout.places[s].assign(timeline.lanes.size(), kHidden);
    layout.headers.push_back({s, layout.height, sizes.header});
    layout.height += sizes.header;
    if (stack[s].memory != nullptr) {
      const float gap = sizes.strip * 0.06F;
      layout.strips.push_back({s, layout.height + gap, sizes.strip - gap});
      layout.height += sizes.strip;
    }
    for (const RankRow& row : all[s].rows) {
      if (row.is_node) {
        const float gap = sizes.band * 0.1F;
        layout.bands.push_back({s, row.place, layout.height + gap, band - gap});
        layout.height += band;
        continue;
      }
      layout.height += sizes.rank_gap;
      place_rank(layout, s, timeline, timeline.ledgers[row.place], heights);
    }
  }
  return layout;
}

}  // namespace viewer
