#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>

#include "viewer/model/format.h"
#include "viewer/model/timeline.h"
#include "viewer/timeline/tables.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

void share_cell(const Fonts& fonts, double share, Color color) {
  ImGui::TableNextColumn();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - fonts.small->FontSize * 4;
  const float height = fonts.small->FontSize * 0.7F;
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float top = at.y + fonts.small->FontSize * 0.2F;
  draw.AddRectFilled({at.x, top}, {at.x + width * static_cast<float>(share), top + height},
                     to_u32(color), 1);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + width);
  const std::string text = percent_text(share);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + fonts.small->FontSize * 4 -
                       text_width(*fonts.small, text));
  ImGui::TextUnformatted(text.c_str());
}

void draw_parts(const Fonts& fonts, const std::vector<PathPart>& parts) {
  constexpr std::array kColumns = {"kind", "steps", "seconds", "share"};
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_PadOuterX | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("path", static_cast<int>(kColumns.size()), kFlags)) return;
  double sum_s = 0;
  for (const PathPart& part : parts) sum_s += part.seconds;
  constexpr std::array kWidths = {2.2F, 0.7F, 1.0F, 4.0F};
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    ImGui::TableSetupColumn(kColumns[i], 0, kWidths[i]);
  }
  header_row(kColumns, 1);
  for (const PathPart& part : parts) {
    const bool gaps = part.sample.kind.empty();
    ImGui::TableNextRow();
    text_cell(db::part_name(part));
    figure_cell(fmt::format("{}", part.steps));
    figure_cell(duration_text(part.seconds, 3));
    share_cell(fonts, sum_s > 0 ? part.seconds / sum_s : 0,
               gaps ? theme::kMuted : op_color(part.sample));
  }
  end_table();
}

}  // namespace

void draw_path(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const Timeline& timeline = *stack[panel.focus].timeline;
  if (!knows_causes(timeline)) {
    ImGui::TextDisabled(
        "This timeline was stored without what its ops wait for: there is no critical path.");
    return;
  }
  const std::vector<PathStep>& path = path_of(panel, timeline);
  double sum_s = 0;
  for (const PathStep& one : path) sum_s += one.seconds + one.gap_s;
  const bool walking = panel.path_walk.at && panel.path_walk.spans.size() == path.size();
  ImGui::TextDisabled("%zu steps make up %s%s   [ ] walk it", path.size(),
                      duration_text(sum_s).c_str(),
                      walking ? fmt::format("; step {}", *panel.path_walk.at + 1).c_str() : "");
  ImGui::PushFont(fonts.small);
  draw_parts(fonts, path_parts(timeline, path));
  ImGui::PopFont();
}

}  // namespace viewer
