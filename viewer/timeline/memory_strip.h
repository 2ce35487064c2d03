#pragma once

#include <span>
#include <string>

#include "viewer/timeline/canvas.h"
#include "viewer/timeline/timeline_panel.h"

/// The memory in use over the iteration, above the lanes and on their axis.
namespace viewer {

/// The strips of memory: what is in use as an area, the highest byte that is planned and that was
/// touched as lines, the peak and the chosen moment marked. All strips have one scale.
void paint_memory(const Canvas& canvas, const TimelinePanel& panel,
                  std::span<const StackEntry> stack, const StackLayout& layout);

/// What stands in the memory at the moment under the mouse.
void draw_memory_tooltip(const TimelinePanel& panel, const Fonts& fonts,
                         std::span<const StackEntry> stack);

/// "block1.moe.received", "parameters (84 tensors)".
std::string memory_item_name(const MemoryItem& item);

}  // namespace viewer
