#include "db/view_columns.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "db/schema_sql.h"

namespace db {
namespace {

/// The unit that the end of a name says; the first that fits.
std::string_view unit_of_name(std::string_view name) {
  using NamedUnit = std::pair<std::string_view, std::string_view>;
  constexpr std::array<NamedUnit, 11> kUnits{{{"s_per_unit", "s/unit"},
                                              {"bytes_per_s", "bytes/s"},
                                              {"flops_per_s", "FLOP/s"},
                                              {"tokens_per_s", "tokens/s"},
                                              {"_per_s", "1/s"},
                                              {"_s", "s"},
                                              {"bytes", "bytes"},
                                              {"_at", "Unix s"},
                                              {"tokens", "tokens"},
                                              {"flops", "FLOPs"},
                                              {"_units", "units"}}};
  const auto* const unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const NamedUnit& named) {
    return name.ends_with(named.first);
  });
  return unit == kUnits.end() ? "" : unit->second;
}

/// The columns of a line "- `name`, `name` (unit): meaning", where unit and meaning may be missing.
std::vector<ViewColumn> columns_of_line(std::string_view line, const std::string& view) {
  const std::size_t colon = std::min(line.find(": "), line.size());
  const std::string_view head = line.substr(0, colon);
  const std::string_view meaning = colon == line.size() ? "" : line.substr(colon + 2);
  std::string_view unit;
  if (const std::size_t bracket = head.find('('); bracket != std::string_view::npos) {
    unit = head.substr(bracket + 1, head.size() - bracket - 2);
  }
  std::vector<ViewColumn> columns;
  for (std::size_t begin = head.find('`'); begin != std::string_view::npos;) {
    const std::size_t end = head.find('`', begin + 1);
    const std::string_view name = head.substr(begin + 1, end - begin - 1);
    columns.push_back({view, std::string(name),
                       std::string(unit.empty() ? unit_of_name(name) : unit),
                       std::string(meaning)});
    begin = head.find('`', end + 1);
  }
  return columns;
}

/// Columns without a meaning have that of the first section, which is of no view.
std::vector<ViewColumn> read_view_columns() {
  constexpr std::string_view kHeading = "## ", kColumns = "- `", kShared = "Every view";
  std::vector<ViewColumn> columns;
  std::map<std::string, std::string> shared;
  std::string view;
  std::istringstream lines{std::string(columns_md)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kHeading)) view = line.substr(kHeading.size());
    if (!line.starts_with(kColumns)) continue;
    for (ViewColumn& column : columns_of_line(line, view)) {
      if (view == kShared) {
        shared[column.name] = column.meaning;
      } else {
        if (column.meaning.empty()) column.meaning = shared[column.name];
        columns.push_back(std::move(column));
      }
    }
  }
  return columns;
}

}  // namespace

const std::vector<ViewColumn>& view_columns() {
  static const std::vector<ViewColumn> columns = read_view_columns();
  return columns;
}

}  // namespace db
