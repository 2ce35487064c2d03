#pragma once

struct ImFontAtlas;

namespace viewer {

/// Lets FreeType draw the glyphs if moe-view was built with it, because small text is sharper then.
/// Otherwise ImGui draws them.
void choose_font_builder(ImFontAtlas& atlas);

}  // namespace viewer
