#pragma once

#include <imgui.h>

#include "viewer/model/color.h"

/// Fonts, colours and spacing of the window.
namespace viewer {

ImU32 to_u32(Color color, float alpha = 1.0F);

namespace theme {
inline constexpr Color kBackground = rgb(0x14171C);
inline constexpr Color kPanel = rgb(0x1A1E25);
inline constexpr Color kLane = rgb(0x20252D);
inline constexpr Color kHeader = rgb(0x272D37);
inline constexpr Color kLine = rgb(0x343B47);
inline constexpr Color kText = rgb(0xE4E8EE);
inline constexpr Color kMuted = rgb(0x98A2B1);
inline constexpr Color kAccent = rgb(0x6FB1FF);
inline constexpr Color kGood = rgb(0x62C6A0);
inline constexpr Color kWarning = rgb(0xF2B84B);
inline constexpr Color kBad = rgb(0xF07B6B);
}  // namespace theme

struct Fonts {
  ImFont* text = nullptr;
  ImFont* bold = nullptr;
  ImFont* small = nullptr;
  bool symbols = false;  ///< whether characters beyond Latin-1 (the ellipsis, the dash) are there
};

/// DejaVu Sans from the system's font folders, ImGui's own font where it is not installed. `scale`
/// is 1 for 96 dpi.
Fonts load_fonts(ImFontAtlas& atlas, float scale);

void apply_style(float scale);

/// A length that is `at_96_dpi` px at scale 1, in px of the scale that the fonts are loaded for.
float scaled_px(float at_96_dpi);
/// The width of a line: whole px per px, so that edges stay sharp.
float line_px(float at_96_dpi = 1);

/// A line so wide. ImDrawList's own are as thin on any screen.
void draw_line(ImDrawList& draw, ImVec2 from, ImVec2 to, ImU32 color, float at_96_dpi = 1);

/// The colour of a run's or trial's status: done, running, everything else.
Color status_color(const char* status);

}  // namespace viewer
