#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "db/console/output_error.h"

/// Rows for people (aligned columns with units) and for machines (CSV quoted as RFC 4180 says,
/// lines ending in LF; JSON). All programs choose by `--format`.
namespace db {

enum class Format { table, csv, json };

/// "table", "csv" or "json"; nothing else.
std::optional<Format> parse_format(std::string_view name);

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Empty for no value, or no text.
template <class Value>
Cell optional_cell(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}
inline Cell text_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

/// One cell as a table shows it: "12.3 ms", "4.00 MiB", "2024-05-01 12:00:00"; "-" where there is
/// no value. A number has the unit that the column's name ends in: _s, bytes, _bytes_per_s, flops,
/// flops_per_s, parameters ("46.7 billion"), _at (an instant, UTC), speedup, over_mean,
/// prediction_error, relative_residual, _share, regret and within_deviation (percent). `unit`
/// ("byte", "flop") is the unit of _per_unit, units_per_s and _units in that row.
std::string format_cell(std::string_view column, const Cell& cell, std::string_view unit = "");

struct Style {
  Format format = Format::table;
  bool color = false;  ///< whether a table's heading and statuses have colours
};

/// True where `file` is a terminal and NO_COLOR is unset. `when`, the value of `--color`, overrules
/// this by "always" or "never".
bool use_color(std::string_view when, std::FILE* file);

/// Writes rows as they come; CSV and JSON have the plain numbers. A table takes its widths from the
/// first 1000 rows, so that a million need no memory; a column `unit` names the units of its row.
/// Throws OutputError.
class RowWriter {
 public:
  RowWriter(std::FILE* file, Style style, std::vector<std::string> columns);
  void row(const std::vector<Cell>& cells);
  /// Writes all rows that still wait, so that a person who watches sees them. A table that has
  /// written none yet takes its widths from them.
  void flush();
  void finish();

 private:
  void write(std::string_view text);
  void write_heading();
  std::vector<std::string> table_cells(const std::vector<Cell>& cells) const;
  std::string table_line(const std::vector<std::string>& texts, bool heading) const;

  std::FILE* file_;
  Style style_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> waiting_;  // rows of a table until its widths are known
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;  // columns of numbers
  std::size_t written_ = 0;
};

}  // namespace db
