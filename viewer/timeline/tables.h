#pragma once

#include <span>
#include <string>
#include <vector>

#include "viewer/timeline/timeline_panel.h"

/// The tables below the timelines, each of the timeline of the stack that they are about
/// (TimelinePanel::focus) and inside the marked range.
namespace viewer {

/// Ops by kind or one by one. A click pins a row: it moves to the top, its ops stand out, and `n`
/// walks its spans. A double click jumps to the first of these.
void draw_op_table(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// The rows of that table. Counted again only after a change.
const OpRows& op_rows(TimelinePanel& panel, std::span<const StackEntry> stack);

/// Pins a row, or with an empty key none.
void pin_row(TimelinePanel& panel, std::span<const StackEntry> stack, const std::string& key);

/// Ranks by the waiting that they caused, and how far the clocks may be off.
void draw_collectives(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// The rows of that table. Counted again only after a change.
const std::vector<Lateness>& late_ranks(TimelinePanel& panel, std::span<const StackEntry> stack);

/// The kinds of op on the critical path.
void draw_path(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// What stands in the memory of a rank, at its peak or at the moment that was clicked.
void draw_memory_table(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// What makes the second of two timelines longer or shorter than the first: by kind, and op by op.
/// A stack of more than two has a choice. A click on an op frames it in both.
void draw_differences(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// Selects an op and shows it in both timelines, with all its chunks.
void frame_both(TimelinePanel& panel, std::span<const StackEntry> stack, const OpDifference& op);

}  // namespace viewer
