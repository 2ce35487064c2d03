#include "tuner/commands/since.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace tuner {
namespace {

std::optional<double> age_s(const std::string& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest + 1 != end || number < 0) return std::nullopt;
  switch (*rest) {
    case 'm':
      return 60.0 * number;
    case 'h':
      return 3600.0 * number;
    case 'd':
      return 86400.0 * number;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> parse_since(const std::string& text, double now) {
  if (const auto age = age_s(text)) return now - *age;
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
