#include "viewer/window/table_copy.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace viewer {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

void append_cell(std::string& csv, std::string_view cell) {
  if (cell.find_first_of(",\"\n") == std::string_view::npos) {
    csv += cell;
    return;
  }
  csv += '"';
  for (const char c : cell) csv += c == '"' ? std::string("\"\"") : std::string(1, c);
  csv += '"';
}

// The cells of a line of the log that begins with "|".
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t next = std::min(line.find('|', at + 1), line.size());
    cells.push_back(trimmed(line.substr(at + 1, next - at - 1)));
    at = next;
  }
  return cells;
}

}  // namespace

std::string csv_of_log(std::string_view log, std::size_t columns) {
  std::string csv;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = trimmed(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.empty()) continue;
    if (line.front() != '|') break;
    // Rows whose last cell is empty stand on one line with the next.
    std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() % columns == 1 && cells.back().empty()) cells.pop_back();  // of no row
    for (std::size_t i = 0; i < cells.size(); ++i) {
      append_cell(csv, cells[i]);
      csv += (i + 1) % columns == 0 || i + 1 == cells.size() ? '\n' : ',';
    }
  }
  return csv;
}

bool TableCopy::request() {
  ImGuiContext& context = *ImGui::GetCurrentContext();
  const ImVec2 mouse = context.IO.MousePos;
  float smallest = 0;
  wanted_ = 0;
  for (int i = 0; i < context.Tables.GetMapSize(); ++i) {
    const ImGuiTable* table = context.Tables.TryGetMapData(i);
    if (table == nullptr || table->LastFrameActive + 1 < context.FrameCount) continue;
    const ImRect place = table->OuterRect;
    if (!place.Contains(mouse)) continue;
    if (wanted_ != 0 && place.GetArea() >= smallest) continue;
    smallest = place.GetArea();
    wanted_ = table->ID;
  }
  return wanted_ != 0;
}

void TableCopy::begin() { ImGui::GetIO().UserData = wanted_ != 0 ? this : nullptr; }

bool TableCopy::copies_whole(const char* narrow, const char* whole) {
  auto* copy = static_cast<TableCopy*>(ImGui::GetIO().UserData);
  if (copy == nullptr || copy->wanted_ != ImGui::GetID(narrow)) return false;
  copy->wanted_ = ImGui::GetID(whole);
  return true;
}

void TableCopy::on_header() {
  auto* copy = static_cast<TableCopy*>(ImGui::GetIO().UserData);
  const ImGuiTable* table = ImGui::GetCurrentContext()->CurrentTable;
  if (copy == nullptr || table == nullptr || table->ID != copy->wanted_) return;
  ImGui::LogToBuffer(0);
  copy->columns_ = static_cast<std::size_t>(table->ColumnsCount);
  copy->writing_ = true;
}

void TableCopy::on_end() {
  auto* copy = static_cast<TableCopy*>(ImGui::GetIO().UserData);
  const ImGuiTable* table = ImGui::GetCurrentContext()->CurrentTable;
  if (copy != nullptr && table != nullptr && table->ID == copy->wanted_) copy->stop();
}

bool TableCopy::is_writing() {
  const auto* copy = static_cast<const TableCopy*>(ImGui::GetIO().UserData);
  return copy != nullptr && copy->writing_;
}

void TableCopy::stop() {
  if (!writing_) return;
  const ImGuiTextBuffer& log = ImGui::GetCurrentContext()->LogBuffer;
  csv_ = csv_of_log({log.c_str(), static_cast<std::size_t>(log.size())}, columns_);
  ImGui::LogFinish();
  writing_ = false;
}

std::optional<std::string> TableCopy::end() {
  ImGui::GetIO().UserData = nullptr;
  if (wanted_ == 0) return std::nullopt;
  wanted_ = 0;
  return std::exchange(csv_, {});
}

}  // namespace viewer
