#include "viewer/window/font_builder.h"

namespace viewer {

void choose_font_builder(ImFontAtlas&) {}

}  // namespace viewer
