#include <imgui.h>
#include <imgui_freetype.h>

#include "viewer/window/font_builder.h"

namespace viewer {

void choose_font_builder(ImFontAtlas& atlas) {
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  atlas.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
}

}  // namespace viewer
