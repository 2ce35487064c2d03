#pragma once

struct ImFontAtlas;

namespace viewer {

/// Lets FreeType draw the glyphs where moe-view was built with it (sharper small text), ImGui's own
/// otherwise.
void choose_font_builder(ImFontAtlas& atlas);

}  // namespace viewer
