#pragma once

#include <span>
#include <string>

#include "viewer/timeline/canvas.h"
#include "viewer/timeline/timeline_panel.h"

/// Timelines of many ranks: which of them are shown and in which order, and the bands of nodes.
namespace viewer {

/// Makes the rows of each timeline of the stack and lets StackEntry::rows point to them. They are
/// made again only after a change, and not while a range is being marked.
void choose_rows(TimelinePanel& panel, std::span<StackEntry> stack);

/// The line of the list of ranks, their order and the switch to nodes, at the cursor. It is drawn
/// where a timeline has more ranks than a person sees at a glance.
void draw_rank_bar(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);
bool has_rank_bar(std::span<const StackEntry> stack);

/// Adds ranks to the bands in sight, for a few milliseconds (TimelinePanel::at_once: until they are
/// complete).
void update_bands(TimelinePanel& panel, std::span<const StackEntry> stack,
                  const StackLayout& layout, const AxisPixels& axis, TimeRange visible_px);

/// A column of pixels says which share of its time the ranks of the node computed (below), had
/// exposed communication (above it), copied or ran host work; the rest is idle time.
void paint_bands(const Canvas& canvas, const TimelinePanel& panel,
                 std::span<const StackEntry> stack, const StackLayout& layout);

/// What is under the mouse, at height `y` of the stack: the name of a rank, the band of a node.
void find_hovered_rank(TimelinePanel& panel, std::span<const StackEntry> stack,
                       const StackLayout& layout, float y, bool in_gutter);

/// A click on a band opens or closes the node; one on the name of a rank pins it or lets it go.
/// Returns whether the click was for one of these.
bool click_rank(TimelinePanel& panel, std::span<const StackEntry> stack);

/// Gives the rank of a span lanes where it has none: opens its node, or pins a rank that the list
/// leaves out.
void show_rank(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position);

/// Says what the band under the mouse stands for.
void draw_band_tooltip(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// "node 3", or "ranks 24-31" where the database does not name nodes.
std::string node_name(const StackEntry& entry, const NodeRanks& node);

}  // namespace viewer
