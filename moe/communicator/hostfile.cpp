#include "moe/communicator/hostfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "moe/errors.h"

namespace moe {
namespace {

/// Throws where mpirun would take a line for the name of another host, or not say which line it is.
void expect_plain_line(const std::string& line, const std::string& where) {
  if (line.starts_with("\xEF\xBB\xBF")) {
    throw InputError(
        fmt::format("{}: begins with a byte order mark, which mpirun takes for a part of the "
                    "host's name: expected plain text",
                    where));
  }
  if (line.find('\r') != std::string::npos) {
    throw InputError(fmt::format(
        "{}: has a carriage return: expected lines that end as on Unix (dos2unix)", where));
  }
}

/// Of a line's words: the number in "slots=4".
std::optional<int> slots_of_line(const std::string& line, const std::string& where) {
  std::string words = line;
  for (std::size_t at = 0; (at = words.find(" =", at)) != std::string::npos;) words.erase(at, 1);
  for (std::size_t at = 0; (at = words.find("= ", at)) != std::string::npos;)
    words.erase(at + 1, 1);
  std::istringstream text(words);
  std::optional<int> slots;
  for (std::string word; text >> word;) {
    constexpr std::string_view key = "slots=";
    if (!word.starts_with(key)) continue;
    const auto refuse = [&](std::string_view expected) {
      throw InputError(fmt::format("{}: {}: expected {}", where, word, expected));
    };
    if (slots) refuse(fmt::format("slots once, after slots={}", *slots));
    int number = 0;
    const char* end = word.data() + word.size();
    const bool read = std::from_chars(word.data() + key.size(), end, number).ptr == end;
    if (!read || number < 0) refuse("slots=N, the ranks that it takes");
    slots = number;
  }
  return slots;
}

}  // namespace

std::optional<int> slots_of_hostfile(const std::string& path) {
  std::ifstream file(path);
  const auto expect_readable = [&](bool read) {
    if (read && !std::filesystem::is_directory(path)) return;
    throw InputError(fmt::format("--hostfile {}: expected a file that can be read", path));
  };
  expect_readable(file.is_open());
  int all = 0, number = 0, hosts = 0;
  bool all_have_slots = true;
  for (std::string line; std::getline(file, line);) {
    const std::string where = fmt::format("--hostfile {}:{}", path, ++number);
    expect_plain_line(line, where);
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    ++hosts;
    const std::optional<int> slots = slots_of_line(line, where);
    all_have_slots = all_have_slots && slots;
    all += slots.value_or(0);
  }
  expect_readable(!file.bad());
  if (all_have_slots && all == 0) {
    throw InputError(fmt::format("--hostfile {}: {}: expected \"HOST slots=N\" a line", path,
                                 hosts == 0 ? "names no host" : "its hosts have no slot"));
  }
  return all_have_slots ? std::optional(all) : std::nullopt;
}

}  // namespace moe
