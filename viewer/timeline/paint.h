#pragma once

#include <span>

#include "viewer/model/level_of_detail.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/timeline_panel.h"

/// Draws the stacked timelines. Reads the panel's state and changes nothing but its caches.
namespace viewer {

/// Headers, labels and marks of the visible part of the stack inside `area`, scrolled like the
/// current window.
void paint_lanes(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 const StackLayout& layout, const AxisPixels& axis, Rect area);

/// Ticks of the shared axis, the mouse's time and the marked range.
void paint_ruler(const TimelinePanel& panel, const Fonts& fonts, const AxisPixels& axis, Rect area);

/// Describes the span under the mouse.
void draw_tooltip(const TimelinePanel& panel, const Fonts& fonts,
                  std::span<const StackEntry> stack);

}  // namespace viewer
