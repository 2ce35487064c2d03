#pragma once

#include <span>
#include <vector>

#include "viewer/timeline/canvas.h"
#include "viewer/timeline/timeline_panel.h"

/// What is drawn over the spans: waiting, partners, causes, the critical path.
namespace viewer {

/// Hatches the part of a communication in which its rank waited for others; [x0, x1) is its place.
void paint_waiting(const Canvas& canvas, const LaneSpan& span, const AxisMap& map, float y,
                   float height);

/// Outlines the parts that other ranks have in the selected communication, the last to begin
/// boldest, and draws arrows from what the selected span waited for, the last in bold.
void paint_asked(const Canvas& canvas, TimelinePanel& panel, std::span<const StackEntry> stack,
                 const StackLayout& layout);

/// Underlines the spans of the critical path of the timeline that the tables are about, and joins
/// them where the path changes lanes.
void paint_path(const Canvas& canvas, TimelinePanel& panel, std::span<const StackEntry> stack,
                const StackLayout& layout);

/// [op]: the colours of a timeline of the stack by how much longer (orange) or shorter (blue) its
/// ops are in the second timeline than in the first.
const std::vector<Color>& difference_colors(TimelinePanel& panel, std::span<const StackEntry> stack,
                                            std::size_t in);

}  // namespace viewer
