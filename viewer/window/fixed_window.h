#pragma once

#include "viewer/window/plot.h"

namespace viewer {

/// Begins an ImGui window that fills `area` and can be neither moved nor resized; ends with
/// ImGui::End().
void begin_fixed(const char* name, Rect area);

}  // namespace viewer
