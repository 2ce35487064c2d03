#pragma once

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viewer/window/theme.h"

/// What the last frame drew, read back from the triangles of ImGui's draw lists.
namespace viewer {

struct DrawnTriangle {
  std::array<ImDrawVert, 3> corners;
  ImVec4 clip;  ///< left, top, right, bottom

  float left() const { return std::min({corners[0].pos.x, corners[1].pos.x, corners[2].pos.x}); }
  float right() const { return std::max({corners[0].pos.x, corners[1].pos.x, corners[2].pos.x}); }
  float top() const { return std::min({corners[0].pos.y, corners[1].pos.y, corners[2].pos.y}); }
  float bottom() const { return std::max({corners[0].pos.y, corners[1].pos.y, corners[2].pos.y}); }
  bool is_visible() const {
    return right() > clip.x && left() < clip.z && bottom() > clip.y && top() < clip.w;
  }
};

/// In the order in which they are painted; those outside their clip rectangle are left out.
inline std::vector<DrawnTriangle> drawn_triangles() {
  std::vector<DrawnTriangle> triangles;
  const ImDrawData& data = *ImGui::GetDrawData();
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      for (unsigned i = 0; i < command.ElemCount; i += 3) {
        DrawnTriangle triangle{{}, command.ClipRect};
        for (unsigned corner = 0; corner < 3; ++corner) {
          const ImDrawIdx index = list.IdxBuffer[static_cast<int>(command.IdxOffset + i + corner)];
          triangle.corners[corner] = list.VtxBuffer[static_cast<int>(command.VtxOffset + index)];
        }
        if (triangle.is_visible()) triangles.push_back(triangle);
      }
    }
  }
  return triangles;
}

struct FontGlyph {
  const ImFontGlyph* glyph;
  const ImFont* font;
};

/// By their place in the texture that holds all fonts.
using FontGlyphs = std::map<std::array<float, 4>, FontGlyph>;

inline FontGlyphs font_glyphs() {
  FontGlyphs by_place;
  for (const ImFont* font : ImGui::GetIO().Fonts->Fonts) {
    for (const ImFontGlyph& glyph : font->Glyphs) {
      if (glyph.Visible) by_place[{glyph.U0, glyph.V0, glyph.U1, glyph.V1}] = {&glyph, font};
    }
  }
  return by_place;
}

/// How many glyphs are cut at the left or right edge of what they are drawn in.
inline int cut_glyphs() {
  const FontGlyphs by_place = font_glyphs();
  int cut = 0;
  for (const DrawnTriangle& triangle : drawn_triangles()) {
    const ImDrawVert &first = triangle.corners[0], &last = triangle.corners[2];
    if (!by_place.contains({first.uv.x, first.uv.y, last.uv.x, last.uv.y})) continue;
    const bool is_whole =
        triangle.left() > triangle.clip.x - 1 && triangle.right() < triangle.clip.z + 1;
    cut += is_whole ? 0 : 1;
  }
  return cut;
}

/// The visible texts: glyphs that follow one another on a line are one text, with the spaces
/// between them.
inline std::vector<std::string> drawn_texts() {
  const FontGlyphs by_place = font_glyphs();
  std::vector<std::string> texts;
  float end_x = 0, line_y = 0;
  for (const DrawnTriangle& triangle : drawn_triangles()) {
    const ImDrawVert &first = triangle.corners[0], &last = triangle.corners[2];
    // A glyph is two triangles; the first one's second corner lies to the right of its first.
    if (triangle.corners[1].uv.y != first.uv.y) continue;
    const auto found = by_place.find({first.uv.x, first.uv.y, last.uv.x, last.uv.y});
    if (found == by_place.end()) continue;
    const auto [glyph, font] = found->second;
    const float pen_x = first.pos.x - glyph->X0, pen_y = first.pos.y - glyph->Y0;
    const float space = font->FindGlyph(' ')->AdvanceX;
    const float gap = pen_x - end_x;
    const bool goes_on = !texts.empty() && std::abs(pen_y - line_y) < 0.5F && gap > -0.5F * space &&
                         gap < 2.5F * space;
    if (!goes_on) texts.emplace_back();
    if (goes_on && gap > 0.5F * space) texts.back() += gap > 1.5F * space ? "  " : " ";
    std::array<char, 5> utf8{};
    ImTextCharToUtf8(utf8.data(), glyph->Codepoint);
    texts.back() += utf8.data();
    end_x = pen_x + glyph->AdvanceX;
    line_y = pen_y;
  }
  return texts;
}

/// The middle of the first visible text that begins with this word, one glyph after the other.
inline std::optional<ImVec2> drawn_place(const std::string& word) {
  const FontGlyphs by_place = font_glyphs();
  std::string read;
  ImVec2 begin;
  for (const DrawnTriangle& triangle : drawn_triangles()) {
    const ImDrawVert &first = triangle.corners[0], &last = triangle.corners[2];
    if (triangle.corners[1].uv.y != first.uv.y) continue;
    const auto found = by_place.find({first.uv.x, first.uv.y, last.uv.x, last.uv.y});
    if (found == by_place.end()) continue;
    const char glyph = static_cast<char>(found->second.glyph->Codepoint);
    if (read.empty() || glyph != word[read.size()]) {
      read.clear();
      begin = first.pos;
    }
    if (glyph != word[read.size()]) continue;
    read += glyph;
    if (read == word) return ImVec2{(begin.x + last.pos.x) / 2, (begin.y + last.pos.y) / 2};
  }
  return std::nullopt;
}

/// The part of the x axis, or of the y axis, from begin to end.
using Stretch = std::pair<float, float>;

/// The stretches of x that shapes of this colour cover, ascending, joined where they touch.
inline std::vector<Stretch> drawn_columns(Color color) {
  const ImU32 rgb = to_u32(color) & ~IM_COL32_A_MASK;
  std::vector<Stretch> all;
  for (const DrawnTriangle& triangle : drawn_triangles()) {
    if ((triangle.corners[0].col & ~IM_COL32_A_MASK) != rgb) continue;
    all.emplace_back(triangle.left(), triangle.right());
  }
  std::sort(all.begin(), all.end());
  std::vector<Stretch> joined;
  for (const Stretch& stretch : all) {
    if (joined.empty() || stretch.first > joined.back().second) {
      joined.push_back(stretch);
    } else {
      joined.back().second = std::max(joined.back().second, stretch.second);
    }
  }
  return joined;
}

}  // namespace viewer
