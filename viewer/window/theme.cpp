#include "viewer/window/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/window/font_builder.h"

namespace viewer {

namespace {

namespace fs = std::filesystem;

// Where Linux distributions and people put fonts: the XDG data folders first.
std::vector<fs::path> font_folders() {
  std::vector<fs::path> folders;
  if (const char* home = std::getenv("XDG_DATA_HOME")) {
    folders.emplace_back(fs::path(home) / "fonts");
  }
  if (const char* home = std::getenv("HOME")) {
    folders.emplace_back(fs::path(home) / ".local/share/fonts");
  }
  for (const char* folder :
       {"/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu",
        "/usr/share/fonts/dejavu-sans-fonts", "/usr/share/fonts/TTF", "/usr/local/share/fonts"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::optional<std::string> find_font(std::string_view file) {
  for (const fs::path& folder : font_folders()) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / file, ignored)) return (folder / file).string();
  }
  return std::nullopt;
}

// Latin with the letters of Europe's languages, Greek, Cyrillic, dashes, ellipsis, arrows and the
// few signs that the panels use.
constexpr std::array<ImWchar, 15> kGlyphs = {0x20,   0x17F,  0x391,  0x3C9,  0x401,
                                             0x451,  0x2010, 0x2027, 0x2190, 0x2193,
                                             0x2264, 0x2265, 0x25B6, 0x25CF, 0};

ImFont* add(ImFontAtlas& atlas, const std::optional<std::string>& file, float size) {
  if (!file) return nullptr;
  ImFontConfig config;
  config.OversampleH = 2;
  return atlas.AddFontFromFileTTF(file->c_str(), size, &config, kGlyphs.data());
}

constexpr float kText_px = 14, kOwnText_px = 13;  // of the system's font and of ImGui's own

bool has_symbols(const ImFont& font) { return font.FindGlyphNoFallback(0x2026) != nullptr; }

ImVec4 vec4(Color color, float alpha = 1.0F) { return {color.r, color.g, color.b, alpha}; }

}  // namespace

ImU32 to_u32(Color color, float alpha) {
  return ImGui::ColorConvertFloat4ToU32(vec4(color, alpha));
}

Fonts load_fonts(ImFontAtlas& atlas, float scale) {
  choose_font_builder(atlas);
  const std::optional<std::string> regular = find_font("DejaVuSans.ttf");
  const std::optional<std::string> heavy = find_font("DejaVuSans-Bold.ttf");
  Fonts fonts;
  fonts.text = add(atlas, regular, kText_px * scale);
  fonts.symbols = fonts.text != nullptr;
  if (fonts.text == nullptr) {
    ImFontConfig config;
    config.SizePixels = kOwnText_px * scale;
    fonts.text = atlas.AddFontDefault(&config);
  }
  fonts.bold = add(atlas, heavy, kText_px * scale);
  if (fonts.bold == nullptr) fonts.bold = fonts.text;
  fonts.small = add(atlas, regular, 12 * scale);
  if (fonts.small == nullptr) fonts.small = fonts.text;
  return fonts;
}

void apply_style(float scale) {
  using namespace theme;
  ImGuiStyle style;
  style.WindowRounding = 0;
  style.WindowBorderSize = 0;
  style.ChildRounding = 4;
  style.FrameRounding = 4;
  style.FrameBorderSize = 1;
  style.PopupRounding = 5;
  style.GrabRounding = 4;
  style.TabRounding = 4;
  style.ScrollbarRounding = 6;
  style.ScrollbarSize = 12;
  style.WindowPadding = {10, 8};
  style.FramePadding = {8, 4};
  style.ItemSpacing = {8, 6};
  style.CellPadding = {6, 3};
  const auto set = [&](ImGuiCol which, Color color, float alpha = 1.0F) {
    style.Colors[which] = vec4(color, alpha);
  };
  set(ImGuiCol_Text, kText);
  set(ImGuiCol_TextDisabled, kMuted);
  set(ImGuiCol_WindowBg, kPanel);
  set(ImGuiCol_ChildBg, kPanel);
  set(ImGuiCol_PopupBg, kHeader, 0.98F);
  set(ImGuiCol_Border, kLine);
  set(ImGuiCol_FrameBg, kHeader);
  set(ImGuiCol_FrameBgHovered, rgb(0x323A47));
  set(ImGuiCol_FrameBgActive, rgb(0x3A4453));
  set(ImGuiCol_ScrollbarBg, kPanel);
  set(ImGuiCol_ScrollbarGrab, rgb(0x3D4654));
  set(ImGuiCol_ScrollbarGrabHovered, rgb(0x4C5768));
  set(ImGuiCol_ScrollbarGrabActive, rgb(0x5B687C));
  set(ImGuiCol_CheckMark, kAccent);
  set(ImGuiCol_SliderGrab, kAccent);
  set(ImGuiCol_SliderGrabActive, rgb(0x9CCBFF));
  set(ImGuiCol_Button, kHeader);
  set(ImGuiCol_ButtonHovered, rgb(0x38414F));
  set(ImGuiCol_ButtonActive, rgb(0x445062));
  set(ImGuiCol_Header, rgb(0x2B4566));
  set(ImGuiCol_HeaderHovered, rgb(0x2C3440));
  set(ImGuiCol_HeaderActive, rgb(0x35527A));
  set(ImGuiCol_Separator, kLine);
  set(ImGuiCol_TableHeaderBg, kHeader);
  set(ImGuiCol_TableBorderStrong, kLine);
  set(ImGuiCol_TableBorderLight, kLine, 0.6F);
  set(ImGuiCol_TableRowBg, kPanel);
  set(ImGuiCol_TableRowBgAlt, rgb(0x1E232B));
  set(ImGuiCol_TextSelectedBg, kAccent, 0.35F);
  set(ImGuiCol_NavHighlight, kAccent, 0.0F);
  style.ScaleAllSizes(scale);
  style.FrameBorderSize = style.PopupBorderSize = std::max(1.0F, std::round(scale));
  ImGui::GetStyle() = style;
}

float scaled_px(float at_96_dpi) {
  const ImFont& text = *ImGui::GetIO().Fonts->Fonts.front();
  return at_96_dpi * text.FontSize / (has_symbols(text) ? kText_px : kOwnText_px);
}

float line_px(float at_96_dpi) { return at_96_dpi * std::max(1.0F, std::round(scaled_px(1))); }

void draw_line(ImDrawList& draw, ImVec2 from, ImVec2 to, ImU32 color, float at_96_dpi) {
  const float width = line_px(at_96_dpi);
  // ImDrawList puts the middle of a line into the middle of a pixel. Lines of 2 px would have
  // blurred edges there.
  const bool is_even = width == std::floor(width) && static_cast<int>(width) % 2 == 0;
  const float shift = is_even && at_96_dpi == 1 ? 0.5F : 0;
  draw.AddLine({from.x + shift, from.y + shift}, {to.x + shift, to.y + shift}, color, width);
}

Color status_color(const char* status) {
  const std::string_view text(status);
  if (text == "done") return theme::kGood;
  if (text == "running" || text == "planned") return theme::kAccent;
  if (text == "killed" || text == "infeasible") return theme::kWarning;
  return theme::kBad;
}

}  // namespace viewer
