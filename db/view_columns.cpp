#include "db/view_columns.h"

#include <sstream>
#include <string_view>

#include "db/schema_sql.h"

namespace db {
namespace {

std::string without_blanks(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

/// The cells between the bars of a row of a table.
std::vector<std::string> cells_of_row(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = line.find(" |", at);
    if (end == std::string::npos) break;
    cells.push_back(without_blanks(std::string_view(line).substr(at, end - at)));
    at = end + 2;
  }
  return cells;
}

std::vector<ViewColumn> read_view_columns() {
  constexpr std::string_view kHeading = "## ", kRow = "| `";
  std::vector<ViewColumn> columns;
  std::string view;
  std::istringstream lines{std::string(columns_md)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kHeading)) view = line.substr(kHeading.size());
    if (!line.starts_with(kRow)) continue;
    const std::vector<std::string> cells = cells_of_row(line);
    if (cells.size() != 3) continue;
    const std::string& name = cells[0];  // in backticks
    columns.push_back({view, name.substr(1, name.size() - 2), cells[1], cells[2]});
  }
  return columns;
}

}  // namespace

const std::vector<ViewColumn>& view_columns() {
  static const std::vector<ViewColumn> columns = read_view_columns();
  return columns;
}

}  // namespace db
