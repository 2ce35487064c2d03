#include "db/console/size.h"

#include <charconv>
#include <cmath>

namespace db {

std::optional<std::int64_t> parse_size(std::string_view text) {
  constexpr std::string_view kLetters = "KMGT";
  double size = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, size, std::chars_format::fixed);
  bool understood = error == std::errc() && size >= 0;
  if (understood && end != last) {
    const char letter = static_cast<char>(*end & ~0x20);  // in upper case
    const auto power = kLetters.find(letter);
    understood = end + 1 == last && power != std::string_view::npos;
    if (understood) size = std::ldexp(size, 10 * (static_cast<int>(power) + 1));
  }
  if (!understood || size != std::floor(size) || size >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(size);
}

}  // namespace db
