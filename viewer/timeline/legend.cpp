#include <algorithm>
#include <map>
#include <utility>

#include "viewer/timeline/timeline_panel.h"

namespace viewer {

namespace {

std::vector<LegendItem> make_legend(std::span<const StackEntry> stack) {
  std::map<std::string, LegendItem> items;
  for (const StackEntry& entry : stack) {
    for (const db::TimelineOp& op : entry.timeline->ops) {
      LegendItem& item = items[std::string(base_kind(op.kind))];
      item.kind = base_kind(op.kind);
      item.op_class = classify(op);
      const Color color = op_color(op);
      const bool known =
          std::find(item.shades.begin(), item.shades.end(), color) != item.shades.end();
      if (!known) item.shades.push_back(color);
    }
  }
  std::vector<LegendItem> sorted;
  for (auto& [kind, item] : items) {
    std::sort(item.shades.begin(), item.shades.end(),
              [](Color a, Color b) { return luminance(a) > luminance(b); });
    sorted.push_back(std::move(item));
  }
  return sorted;
}

void draw_legend_item(TimelinePanel& panel, const Fonts& fonts, const LegendItem& item) {
  const float size = fonts.small->FontSize * 0.85F;
  std::string name = item.kind;
  std::replace(name.begin(), name.end(), '_', ' ');
  const float swatches = size * (1 + 0.55F * static_cast<float>(item.shades.size() - 1));
  const float width = swatches + 5 + text_width(*fonts.small, name);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (ImGui::InvisibleButton(item.kind.c_str(), {width, fonts.small->FontSize * 1.5F})) {
    panel.pinned = panel.pinned == item.kind ? "" : item.kind;
  }
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float middle = at.y + fonts.small->FontSize * 0.75F;
  for (std::size_t i = item.shades.size(); i-- > 0;) {
    const float x = at.x + size * 0.55F * static_cast<float>(i);
    draw.AddRectFilled({x, middle - size / 2}, {x + size, middle + size / 2},
                       to_u32(item.shades[i]), 2);
  }
  const bool strong = hovered || panel.pinned == item.kind;
  draw_text(draw, *fonts.small, at.x + swatches + 5, middle, 0,
            strong ? theme::kText : theme::kMuted, name);
  if (hovered) panel.highlighted = item.kind;
}

}  // namespace

void draw_legend(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 float width_px) {
  panel.highlighted.clear();
  std::vector<std::int64_t> ids = ids_of(stack);
  if (ids != panel.legend_ids) {
    panel.legend = make_legend(stack);
    panel.legend_ids = std::move(ids);
  }
  const std::vector<LegendItem>& items = panel.legend;
  const float left = ImGui::GetCursorPosX();
  const float right = left + width_px;
  const float gap = fonts.small->FontSize;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, 2});
  for (const OpClass op_class :
       {OpClass::computation, OpClass::communication, OpClass::copy, OpClass::host}) {
    const bool any = std::any_of(items.begin(), items.end(),
                                 [&](const LegendItem& i) { return i.op_class == op_class; });
    if (!any) continue;
    const bool new_line = op_class == OpClass::computation || op_class == OpClass::communication;
    if (!new_line) ImGui::SameLine(0, gap * 2);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const std::string title(class_name(op_class));
    const float width = text_width(*fonts.small, new_line ? "communication" : title);
    draw_text(*ImGui::GetWindowDrawList(), *fonts.small, at.x, at.y + gap * 0.75F, 0, theme::kText,
              title);
    ImGui::Dummy({width, gap * 1.5F});
    for (const LegendItem& item : items) {
      if (item.op_class != op_class) continue;
      ImGui::SameLine();
      if (ImGui::GetCursorPosX() + text_width(*fonts.small, item.kind) + gap * 2 > right) {
        ImGui::NewLine();
        ImGui::SetCursorPosX(left + width + gap);
      }
      draw_legend_item(panel, fonts, item);
    }
  }
  ImGui::PopStyleVar();
}

}  // namespace viewer
