#pragma once

#include "viewer/window/plot.h"

namespace viewer {

/// Lets a person drag the edge between two areas: a line, upright where `edge` has no width. Drawn
/// after both areas, over them. Returns by how many pixels it was dragged in this frame.
float drag_edge(const char* name, Rect edge);

}  // namespace viewer
