#include <algorithm>

#include "viewer/timeline/tables.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {

namespace {

// A word that is a button: bright while it is the choice.
bool choice(const Fonts& fonts, const char* text, bool chosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = fonts.text->FontSize * 1.45F;
  const bool clicked = ImGui::InvisibleButton(text, {text_width(*fonts.bold, text), height});
  const Color color = chosen                   ? theme::kText
                      : ImGui::IsItemHovered() ? theme::kAccent
                                               : theme::kMuted;
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw_text(draw, chosen ? *fonts.bold : *fonts.text, at.x, at.y + height * 0.45F, 0, color, text);
  if (chosen) {
    draw_line(draw, {at.x, at.y + height - 2},
              {at.x + text_width(*fonts.bold, text), at.y + height - 2}, to_u32(theme::kAccent), 2);
  }
  return clicked;
}

// Which timeline the tables are about, where there are several.
void draw_focus(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const float em = fonts.text->FontSize;
  ImGui::SameLine(0, em * 2);
  const float gap = em * 1.5F, room = ImGui::GetContentRegionAvail().x;
  const float share = room / static_cast<float>(stack.size()) - gap;
  std::vector<std::string> names, shown;
  float needed = -gap;
  for (const StackEntry& entry : stack) {
    const bool predicted = entry.timeline->info.kind == db::kPredicted;
    names.push_back((predicted ? "predicted " : "") + entry.title);
    needed += text_width(*fonts.bold, names.back()) + gap;
  }
  for (const std::string& name : names) {
    shown.push_back(elided(*fonts.bold, name, needed <= room ? room : std::min(share, em * 20)));
  }
  // Where one has no room at all, they are counted from above.
  const bool are_counted =
      std::any_of(shown.begin(), shown.end(), [](const std::string& text) { return text.empty(); });
  for (std::size_t s = 0; s < stack.size(); ++s) {
    if (are_counted) shown[s] = std::to_string(s + 1);
    if (s > 0) ImGui::SameLine(0, gap);
    ImGui::PushID(static_cast<int>(s));
    if (choice(fonts, shown[s].c_str(), s == panel.focus)) panel.focus = s;
    if (ImGui::IsItemHovered() && shown[s] != names[s]) ImGui::SetTooltip("%s", names[s].c_str());
    ImGui::PopID();
  }
}

// Whether what a table is about is still loaded. The ranks that are there have their table.
bool is_loading(TimelinePanel& panel, std::span<const StackEntry> stack) {
  if (panel.figures == Figures::ranks || panel.figures == Figures::memory) return false;
  if (panel.figures != Figures::differences) {
    return !is_indexed(panel, *stack[panel.focus].timeline);
  }
  const auto [first, second] = compared_pair(panel, stack);
  return !stack[first].timeline->complete || !stack[second].timeline->complete;
}

bool is_of_one(Figures figures) {
  return figures == Figures::ops || figures == Figures::collectives || figures == Figures::path ||
         figures == Figures::memory;
}

}  // namespace

void draw_figures(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  panel.focus = std::min(panel.focus, stack.size() - 1);
  const float em = fonts.text->FontSize;
  for (const Figures figures : kFigures) {
    if (figures == Figures::differences && stack.size() < 2) continue;
    if (figures != kFigures.front()) ImGui::SameLine(0, em * 1.3F);
    if (choice(fonts, figures_title(figures), panel.figures == figures)) panel.figures = figures;
  }
  if (panel.figures == Figures::differences && stack.size() < 2) panel.figures = Figures::ranks;
  if (is_of_one(panel.figures) && stack.size() > 1) draw_focus(panel, fonts, stack);
  if (is_loading(panel, stack)) {
    ImGui::TextDisabled("This table is there when all ranks have been read.");
    return;
  }
  ImGui::BeginChild("figures", {0, 0}, false, ImGuiWindowFlags_HorizontalScrollbar);
  switch (panel.figures) {
    case Figures::ranks:
      draw_summaries(panel, fonts, stack);
      break;
    case Figures::ops:
      draw_op_table(panel, fonts, stack);
      break;
    case Figures::collectives:
      draw_collectives(panel, fonts, stack);
      break;
    case Figures::path:
      draw_path(panel, fonts, stack);
      break;
    case Figures::memory:
      draw_memory_table(panel, fonts, stack);
      break;
    case Figures::differences:
      draw_differences(panel, fonts, stack);
      break;
  }
  ImGui::EndChild();
}

}  // namespace viewer
