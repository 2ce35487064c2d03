#pragma once

#include <string>

#include "viewer/window/theme.h"

namespace viewer {

/// A line of text that ends with an ellipsis where it does not fit; the tooltip has all of it then.
/// Nothing for "".
void draw_sentence(const std::string& text, Color color = theme::kText);

}  // namespace viewer
