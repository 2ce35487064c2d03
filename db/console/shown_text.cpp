#include "db/console/shown_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace db {
namespace {

/// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t bytes = first < 0x80                     ? 1
                            : first >= 0xc2 && first < 0xe0  ? 2
                            : first >= 0xe0 && first < 0xf0  ? 3
                            : first >= 0xf0 && first <= 0xf4 ? 4
                                                             : 0;
  if (bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

/// The control characters of ASCII, and U+0080 to U+009F.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 2 && first == 0xc2) {
    return static_cast<unsigned char>(character[1]) < 0xa0;
  }
  return first < 0x20 || first == 0x7f;
}

}  // namespace

std::string escaped(std::string_view text, bool keep_lines) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    text.remove_prefix(character.size());
    if (bytes > 0 && (!is_control(character) || (keep_lines && character == "\n"))) {
      result += character;
    } else if (character == "\n") {
      result += "\\n";
    } else if (character == "\t") {
      result += "\\t";
    } else {
      for (const char byte : character) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  // An escape is four characters for one byte: no more than `most` bytes can be shown.
  const bool long_text = text.size() > 4 * most;
  std::string result = escaped(long_text ? text.substr(0, most) : text);
  if (result.size() <= most && !long_text) return result;
  std::size_t end = std::min(result.size(), most - 3);
  // Not within a character of several bytes.
  while (end > 0 && end < result.size() &&
         (static_cast<unsigned char>(result[end]) & 0xc0) == 0x80) {
    --end;
  }
  return result.substr(0, end) + "...";
}

std::string counted(std::int64_t count, std::string_view one, std::string_view several) {
  if (count == 1 || several.empty()) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
  }
  return fmt::format("{} {}", count, several);
}

std::string integer_range(std::int64_t least, std::int64_t most) {
  return most == kAnyInteger ? fmt::format("an integer of at least {}", least)
                             : fmt::format("an integer from {} to {}", least, most);
}

}  // namespace db
