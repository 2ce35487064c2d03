#include "moe/communicator/hostfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "moe/errors.h"

namespace moe {
namespace {

/// Of a line's words: the number in "slots=4".
std::optional<int> slots_of_line(const std::string& line) {
  std::string words = line;
  for (std::size_t at = 0; (at = words.find(" =", at)) != std::string::npos;) words.erase(at, 1);
  for (std::size_t at = 0; (at = words.find("= ", at)) != std::string::npos;)
    words.erase(at + 1, 1);
  std::istringstream text(words);
  for (std::string word; text >> word;) {
    constexpr std::string_view key = "slots=";
    if (!word.starts_with(key)) continue;
    int slots = 0;
    const char* end = word.data() + word.size();
    if (std::from_chars(word.data() + key.size(), end, slots).ptr == end && slots > 0) return slots;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> slots_of_hostfile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw InputError(fmt::format("--hostfile {}: expected a file that can be read", path));
  }
  int all = 0;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::optional<int> slots = slots_of_line(line);
    if (!slots) return std::nullopt;
    all += *slots;
  }
  return all > 0 ? std::optional(all) : std::nullopt;
}

}  // namespace moe
