#include "tuner/commands/since.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>

namespace tuner {

std::optional<double> parse_duration(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit == "s") return number;
  if (unit == "m") return 60 * number;
  if (unit == "h") return 3600 * number;
  if (unit == "d") return 86400 * number;
  return std::nullopt;
}

std::optional<double> parse_since(const std::string& text, double now) {
  if (const auto age_s = parse_duration(text)) return now - *age_s;
  std::string instant = text;
  std::ranges::replace(instant, 'T', ' ');
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"}) {
    std::tm parts{};
    const char* const end = strptime(instant.c_str(), format, &parts);
    if (end != nullptr && *end == '\0') return static_cast<double>(timegm(&parts));
  }
  return std::nullopt;
}

}  // namespace tuner
