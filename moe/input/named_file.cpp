#include "moe/input/named_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "moe/errors.h"
#include "moe/source_tree.h"

namespace moe {
namespace {

/// True for "glm-4.5"; false for paths and for files with their ending.
bool is_name(const std::string& text) {
  return text.find('/') == std::string::npos && !text.ends_with(".toml");
}

}  // namespace

std::filesystem::path named_file(const std::string& name_or_path,
                                 const std::filesystem::path& directory,
                                 std::string_view of_folder) {
  const std::filesystem::path there =
      directory.is_relative() ? source_tree() / directory : directory;
  std::error_code ignored;
  if (is_name(name_or_path) &&
      std::filesystem::is_regular_file(there / (name_or_path + ".toml"), ignored)) {
    return there / (name_or_path + ".toml");
  }
  // The reader refuses a pipe or a device, and says which it is.
  const std::filesystem::path path = name_or_path;
  const bool fits =
      std::filesystem::is_directory(path, ignored)
          ? !of_folder.empty() && std::filesystem::is_regular_file(path / of_folder, ignored)
          : std::filesystem::exists(path, ignored);
  if (fits) return path;

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(there, ignored)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  throw InputError(fmt::format(
      "{}: no such file, and {} has {}{}", db::shortened(name_or_path, 200), there.string(),
      names.empty() ? "no TOML files" : fmt::format("only {}", fmt::join(names, ", ")),
      of_folder.empty() ? "" : fmt::format("; a {}, or a folder with one, will do", of_folder)));
}

FindBase bases_in(const std::filesystem::path& directory) {
  return [directory](const std::string& base, const std::filesystem::path& file) {
    std::error_code ignored;
    const bool named = is_name(base);
    const std::filesystem::path beside = file.parent_path() / (named ? base + ".toml" : base);
    if (std::filesystem::is_regular_file(beside, ignored)) return beside;
    return named_file(named ? base : beside.string(), directory);
  };
}

}  // namespace moe
