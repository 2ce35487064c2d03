#pragma once

#include <cstddef>

#include "viewer/timeline/input.h"
#include "viewer/timeline/layout.h"
#include "viewer/window/plot.h"

namespace viewer {

/// Where the timelines are drawn in this frame.
struct Canvas {
  ImDrawList& draw;
  const Fonts& fonts;
  AxisPixels axis;
  Rect area;
  float top;  ///< of the stack; above area.min.y when scrolled
};

/// The place of a lane of a timeline of the stack, or null.
const PlacedLane* find_placed(const StackLayout& layout, std::size_t stack, std::size_t lane);

/// Draws a frame of `thickness` px around a span.
void outline(const Canvas& canvas, const LaneSpan& span, const AxisMap& map,
             const PlacedLane& placed, Color color, float thickness = 2);

}  // namespace viewer
