#pragma once

#include <span>

#include "viewer/model/level_of_detail.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/timeline_panel.h"

/// The picture of the stacked timelines; reads the panel's state and changes nothing but its
/// caches.
namespace viewer {

/// Headers, labels and marks of what is visible of the stack inside `area`, scrolled as the current
/// window.
void paint_lanes(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 const StackLayout& layout, const AxisPixels& axis, Rect area);

/// Ticks of the shared axis, the mouse's time and the marked range.
void paint_ruler(const TimelinePanel& panel, const Fonts& fonts, const AxisPixels& axis, Rect area);

/// What is under the mouse.
void draw_tooltip(const TimelinePanel& panel, const Fonts& fonts,
                  std::span<const StackEntry> stack);

}  // namespace viewer
