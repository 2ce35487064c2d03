#include "db/line_of_log.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "db/error.h"

namespace db {

void LineOfLog::refuse(const std::string& why) const {
  throw Error(ErrorKind::invalid, fmt::format("{}, line {}: {}", file, number, why));
}

void refuse_log(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::invalid, fmt::format("{}: {}", name, why));
}

std::optional<double> number_in(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool read = error == std::errc() && end == word.data() + word.size();
  return read && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> whole_number_in(std::string_view word, std::int64_t most) {
  const auto value = number_in(word);
  const bool is_one =
      value && *value >= 0 && *value <= static_cast<double>(most) && *value == std::floor(*value);
  return is_one ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  bool had_quotes = false;
  for (const char c : line) {
    if (c == '"') {
      if (had_quotes && !quoted) cells.back() += c;  // the second of two quotes
      quoted = !quoted;
      had_quotes = true;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
      had_quotes = false;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace db
