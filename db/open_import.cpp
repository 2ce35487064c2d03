#include "db/open_import.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "db/error.h"

namespace db {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMarks = 4;  ///< as long as the longest of these
constexpr std::string_view kUtf8 = "\xef\xbb\xbf"sv;

/// What a file is that begins so; "" for a text.
std::string_view kind_of(std::string_view first) {
  if (first.starts_with("\xff\xfe"sv) || first.starts_with("\xfe\xff"sv)) return "UTF-16 text"sv;
  const bool has_zero = first.find('\0') != std::string_view::npos;
  const bool has_other = first.starts_with("\x1f\x8b"sv) || first.starts_with("PK\x03\x04"sv);
  return has_zero || has_other ? "a binary or compressed file, or UTF-16 text"sv : ""sv;
}

}  // namespace

std::ifstream open_import(const std::string& path) {
  using std::filesystem::file_type;
  std::error_code none;
  const file_type type = std::filesystem::status(path, none).type();
  if (type == file_type::directory || type == file_type::character || type == file_type::block) {
    throw Error(ErrorKind::invalid,
                fmt::format("{}: is a {}: expected a file", path,
                            type == file_type::directory ? "folder" : "device"));
  }
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::not_found, fmt::format("{}: cannot be read", path));
  std::string first;
  while (first.size() < kMarks && file.peek() != std::ifstream::traits_type::eof()) {
    first += static_cast<char>(file.get());
  }
  if (const std::string_view kind = kind_of(first); !kind.empty()) {
    throw Error(ErrorKind::invalid, fmt::format("{}: is {}: expected text in UTF-8", path, kind));
  }
  file.clear();
  const std::size_t kept = first.starts_with(kUtf8) ? kUtf8.size() : 0;
  for (std::size_t i = first.size(); i > kept; --i) file.unget();  // works in a pipe, too
  return file;
}

}  // namespace db
