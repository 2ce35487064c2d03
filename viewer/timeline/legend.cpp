#include <algorithm>
#include <map>
#include <utility>

#include "viewer/model/timeline.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {

namespace {

constexpr int kMostLines = 6;  // a trace of hundreds of kinds leaves room for its lanes

std::vector<LegendItem> make_legend(std::span<const StackEntry> stack) {
  std::map<std::pair<Activity, std::string>, LegendItem> items;
  for (const StackEntry& entry : stack) {
    for (const db::TimelineOp& op : entry.timeline->ops) {
      const std::string kind = legend_kind(op);
      LegendItem& item = items[{activity_of(op), kind}];
      item.kind = kind;
      item.activity = activity_of(op);
      const Color color = op_color(op);
      const bool known =
          std::find(item.shades.begin(), item.shades.end(), color) != item.shades.end();
      if (!known) item.shades.push_back(color);
    }
  }
  std::vector<LegendItem> sorted;
  for (auto& [key, item] : items) {
    std::sort(item.shades.begin(), item.shades.end(),
              [](Color a, Color b) { return luminance(a) > luminance(b); });
    sorted.push_back(std::move(item));
  }
  return sorted;
}

std::string item_name(const LegendItem& item) {
  std::string name = item.kind;
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

float swatch_size(const Fonts& fonts) { return fonts.small->FontSize * 0.85F; }

float swatches_width(const Fonts& fonts, const LegendItem& item) {
  return swatch_size(fonts) * (1 + 0.55F * static_cast<float>(item.shades.size() - 1)) + 5;
}

float item_width(const Fonts& fonts, const LegendItem& item) {
  return swatches_width(fonts, item) + text_width(*fonts.small, item_name(item));
}

void draw_legend_item(TimelinePanel& panel, const Fonts& fonts, const LegendItem& item) {
  const float size = swatch_size(fonts);
  const float width = item_width(fonts, item);
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
  draw_text(draw, *fonts.small, at.x + swatches_width(fonts, item), middle, 0,
            strong ? theme::kText : theme::kMuted, item_name(item));
  if (hovered) panel.highlighted = item.kind;
}

}  // namespace

const std::vector<LegendItem>& legend_of(TimelinePanel& panel, std::span<const StackEntry> stack) {
  return panel.memo.answer(Question::legend, 0, loaded_spans(stack),
                           [&] { return make_legend(stack); });
}

void draw_legend(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 float first_line_px, float width_px) {
  panel.highlighted.clear();
  const std::vector<LegendItem>& legend = legend_of(panel, stack);
  const float left = ImGui::GetCursorPosX();
  const float gap = fonts.small->FontSize;
  const float titles = text_width(*fonts.small, "communication") + gap;
  float right = left + first_line_px;
  int lines = 1;
  const auto break_line = [&](float indent) {
    ++lines;
    ImGui::NewLine();
    ImGui::SetCursorPosX(left + indent);
    right = left + width_px;
  };
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, scaled_px(2)});
  const LegendItem* before = nullptr;
  for (const LegendItem& item : legend) {
    const bool first = before == nullptr || before->activity != item.activity;
    const std::string title(activity_name(item.activity));
    // Computation and communication have lines of their own, the others share the rest of the room.
    const bool own_line =
        item.activity == Activity::computation || item.activity == Activity::communication;
    const float title_px = !first     ? 0
                           : own_line ? titles
                                      : text_width(*fonts.small, title) + 2 * gap;
    if (before != nullptr) {
      ImGui::SameLine();
      const bool full = ImGui::GetCursorPosX() + title_px + item_width(fonts, item) > right;
      if (full && lines >= kMostLines) {
        const auto drawn = static_cast<std::size_t>(&item - legend.data());
        ImGui::TextDisabled("and %zu more", legend.size() - drawn);
        break;
      }
      if (full || (first && own_line)) break_line(first ? 0 : titles);
    }
    if (first) {
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float x = own_line || before == nullptr ? at.x : at.x + gap;
      draw_text(*ImGui::GetWindowDrawList(), *fonts.small, x, at.y + gap * 0.75F, 0, theme::kText,
                title);
      ImGui::Dummy({title_px - gap, gap * 1.5F});
      ImGui::SameLine();
    }
    ImGui::PushID(static_cast<int>(item.activity));
    draw_legend_item(panel, fonts, item);
    ImGui::PopID();
    before = &item;
  }
  ImGui::PopStyleVar();
}

}  // namespace viewer
