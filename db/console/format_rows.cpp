#include "db/console/format_rows.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "db/console/shown_text.h"

namespace db {
namespace {

constexpr std::size_t kWidestCell = 60;
constexpr std::size_t kRowsThatSetWidths = 1000;

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

std::string significant(double value) {  // three significant digits
  if (value == 0) return "0";
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

// value in units of `step` powers: 1024 for bytes, 1000 for the rest.
template <std::size_t n>
std::string scaled(double value, double step, const std::array<const char*, n>& units) {
  std::size_t unit = 0;
  while (unit + 1 < n && std::abs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", significant(value), units[unit]);
}

std::string seconds(double value) {
  if (value == 0) return "0 s";
  const double size = std::abs(value);
  if (size < 999.5e-15) return significant(value * 1e15) + " fs";  // a FLOP's share
  if (size < 999.5e-12) return significant(value * 1e12) + " ps";
  if (size < 999.5e-9) return significant(value * 1e9) + " ns";
  if (size < 999.5e-6) return significant(value * 1e6) + " us";
  if (size < 0.9995) return significant(value * 1e3) + " ms";
  return significant(value) + " s";
}

std::string instant(double value) {
  const auto whole = static_cast<std::time_t>(value);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string bytes(double value) {
  static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  return std::abs(value) < 1024 ? fmt::format("{} B", value) : scaled(value, 1024, units);
}

std::string count(double value) {
  static constexpr std::array units{"", "thousand", "million", "billion", "trillion"};
  return std::abs(value) < 1000 ? fmt::format("{}", value) : scaled(value, 1000, units);
}

std::string human(std::string_view column, double value) {
  static constexpr std::array rates{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  static constexpr std::array work{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  static constexpr std::array speed{"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"};
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (ends_with(column, "bytes_per_s")) return scaled(value, 1000, rates);
  if (ends_with(column, "flops_per_s")) return scaled(value, 1000, speed);
  if (column == "flops" || ends_with(column, "_flops")) return scaled(value, 1000, work);
  if (column == "bytes" || ends_with(column, "_bytes")) return bytes(value);
  if (ends_with(column, "parameters")) return count(value);
  if (ends_with(column, "_at")) return instant(value);
  if (ends_with(column, "prediction_error") || ends_with(column, "relative_residual") ||
      ends_with(column, "_share") || column == "regret" || column == "within_deviation") {
    return fmt::format("{:.1f}%", value * 100);
  }
  if (ends_with(column, "speedup") || ends_with(column, "over_mean")) {
    return significant(value) + "x";
  }
  if (ends_with(column, "_s") && !ends_with(column, "_per_s")) return seconds(value);
  return fmt::format("{:.6g}", value);
}

// "units_per_s" of bytes is "bytes_per_s".
std::string named_by(std::string_view unit, std::string_view column) {
  std::string name(column);
  const std::size_t at = name.find("units");
  return at == std::string::npos ? name : name.replace(at, 5, unit).insert(at + unit.size(), "s");
}

// One line without control characters, cut where it is too long for a table.
std::string shorten(const std::string& text) {
  const std::string line = escaped(text);
  std::size_t characters = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xc0) != 0x80;  // a character
    if (begins && ++characters > kWidestCell) return line.substr(0, at) + "...";
  }
  return line;
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string csv_field(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return "";
  // An empty text is quoted, so that it is told from NULL.
  if (!text->empty() && text->find_first_of(",\"\r\n") == std::string::npos) return *text;
  std::string quoted = "\"";
  for (const char c : *text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_value(std::string_view column, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) {
    return std::isfinite(*real) ? fmt::format("{}", *real) : "null";
  }
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return "null";
  const bool holds_json = column == "parameters" || column == "json" || ends_with(column, "_json");
  if (holds_json && nlohmann::json::accept(*text)) return *text;
  return json_text(*text);
}

const char* status_color(std::string_view status) {
  if (status == "done") return "\033[32m";
  if (status == "running" || status == "planned") return "\033[33m";
  return "\033[31m";
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

}  // namespace

std::optional<Format> parse_format(std::string_view name) {
  if (name == "table") return Format::table;
  if (name == "csv") return Format::csv;
  if (name == "json") return Format::json;
  return std::nullopt;
}

std::string format_cell(std::string_view column, const Cell& cell, std::string_view unit) {
  if (!unit.empty() && is_number(cell)) {
    if (ends_with(column, "_s_per_unit") && std::holds_alternative<double>(cell)) {
      return fmt::format("{}/{}", seconds(std::get<double>(cell)), unit);
    }
    return format_cell(named_by(unit, column), cell);
  }
  if (const auto* real = std::get_if<double>(&cell)) return human(column, *real);
  if (const auto* text = std::get_if<std::string>(&cell)) return shorten(*text);
  const auto* integer = std::get_if<std::int64_t>(&cell);
  if (integer == nullptr) return "-";
  const bool has_unit = column == "bytes" || ends_with(column, "bytes") ||
                        ends_with(column, "_s") || ends_with(column, "parameters");
  return has_unit ? human(column, static_cast<double>(*integer)) : fmt::format("{}", *integer);
}

bool use_color(std::string_view when, std::FILE* file) {
  if (when == "always") return true;
  const char* no_color = std::getenv("NO_COLOR");
  return when != "never" && (no_color == nullptr || *no_color == '\0') && isatty(fileno(file)) != 0;
}

RowWriter::RowWriter(std::FILE* file, Style style, std::vector<std::string> columns)
    : file_(file), style_(style), columns_(std::move(columns)) {
  if (style_.format == Format::csv) {
    std::string line;
    for (const std::string& column : columns_) {
      line += (line.empty() ? "" : ",") + csv_field(column);
    }
    write(line + "\n");
  }
  if (style_.format == Format::json) write("[");
}

void RowWriter::row(const std::vector<Cell>& cells) {
  if (style_.format == Format::table) {
    if (widths_.empty()) {
      waiting_.push_back(cells);
      if (waiting_.size() == kRowsThatSetWidths) write_heading();
      return;
    }
    write(table_line(table_cells(cells), false));
    return;
  }
  const bool csv = style_.format == Format::csv;
  std::string line = csv ? "" : written_ == 0 ? "\n{" : ",\n{";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += csv ? "," : ", ";
    line += csv ? csv_field(cells[i])
                : json_text(columns_[i]) + ": " + json_value(columns_[i], cells[i]);
  }
  write(line + (csv ? "\n" : "}"));
  ++written_;
}

std::vector<std::string> RowWriter::table_cells(const std::vector<Cell>& cells) const {
  std::string_view unit;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto* text = std::get_if<std::string>(&cells[i]);
    if (columns_[i] == "unit" && text != nullptr) unit = *text;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    texts.push_back(format_cell(columns_[i], cells[i], unit));
  }
  return texts;
}

void RowWriter::write_heading() {
  right_.assign(columns_.size(), false);
  std::vector<std::string> headings;
  for (const std::string& column : columns_) {
    headings.push_back(escaped(column));
    widths_.push_back(width(headings.back()));
  }
  for (const auto& cells : waiting_) {
    const auto texts = table_cells(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths_[i] = std::max(widths_[i], width(texts[i]));
      if (is_number(cells[i]) && !ends_with(columns_[i], "_at")) right_[i] = true;
    }
  }
  write(table_line(headings, true));
  const auto rows = std::move(waiting_);
  for (const auto& cells : rows) row(cells);
}

std::string RowWriter::table_line(const std::vector<std::string>& texts, bool heading) const {
  std::string line;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t used = width(texts[i]);
    const std::string space(widths_[i] > used ? widths_[i] - used : 0, ' ');
    const char* style = heading                   ? "\033[1m"
                        : columns_[i] == "status" ? status_color(texts[i])
                                                  : nullptr;
    if (right_[i]) line += space;
    line += style != nullptr && style_.color ? style + texts[i] + "\033[0m" : texts[i];
    const bool last = i + 1 == texts.size();
    if (!right_[i] && !last) line += space;
    line += last ? "\n" : "  ";
  }
  return line;
}

void RowWriter::finish() {
  if (style_.format == Format::table && widths_.empty()) write_heading();
  if (style_.format == Format::json) write(written_ == 0 ? "]\n" : "\n]\n");
  flush();
}

void RowWriter::flush() {
  if (!waiting_.empty()) write_heading();
  if (std::fflush(file_) != 0) write("");
}

void RowWriter::write(std::string_view text) {
  const bool ok = std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  if (ok && std::ferror(file_) == 0) return;
  if (ok) std::fflush(file_);  // another flush failed, a library's perhaps; this one says why
  throw write_error("stdout", errno);
}

}  // namespace db
