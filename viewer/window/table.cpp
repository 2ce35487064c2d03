#include "viewer/window/table.h"

#include <imgui.h>

#include "viewer/window/plot.h"
#include "viewer/window/table_copy.h"

namespace viewer {

namespace {

void move_to_right(const char* text, float margin) {
  const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(text).x - margin;
  if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
}

}  // namespace

void text_cell(const std::string& text) {
  ImGui::TableNextColumn();
  const std::string shown = fitting(*ImGui::GetFont(), text);
  ImGui::TextUnformatted(shown.c_str());
  explain_cut(text, shown);
}

void figure_cell(const std::string& text) {
  ImGui::TableNextColumn();
  move_to_right(text.c_str(), 0);
  ImGui::TextUnformatted(text.c_str());
}

std::string fitting(const ImFont& font, const std::string& text) {
  if (TableCopy::is_writing()) return text;
  const std::string shown = elided(font, text, ImGui::GetContentRegionAvail().x);
  return shown.empty() ? text : shown;  // in a very narrow column its beginning
}

void explain_cut(const std::string& text, const std::string& shown) {
  if (shown != text && is_cell_hovered()) ImGui::SetTooltip("%s", text.c_str());
}

bool is_cell_hovered() { return ImGui::IsItemHovered() && !TableCopy::is_writing(); }

void end_table() {
  TableCopy::on_end();
  ImGui::EndTable();
}

void header_row(std::span<const char* const> names, std::size_t first_figure, bool sortable) {
  TableCopy::on_header();
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (std::size_t i = 0; i < names.size(); ++i) {
    ImGui::TableSetColumnIndex(static_cast<int>(i));
    if (i >= first_figure) move_to_right(names[i], sortable ? ImGui::GetFontSize() : 0);
    ImGui::TableHeader(names[i]);
  }
}

}  // namespace viewer
