#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>

#include "moe/errors.h"
#include "moe/source_tree.h"
#include "moe/train/data.h"

namespace moe {
namespace {

bool is_source_text(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 9> kExtensions{".h",   ".cpp",  ".cu", ".md",   ".sql",
                                                        ".txt", ".toml", ".py", ".cmake"};
  const std::string extension = path.extension().string();
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

void add_files(const std::filesystem::path& directory, bool (*wanted)(const std::filesystem::path&),
               std::vector<std::filesystem::path>& files) {
  std::error_code ignored;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory, options, ignored)) {
    if (!entry.is_symlink(ignored) && entry.is_regular_file(ignored) && wanted(entry.path())) {
      files.push_back(entry.path());
    }
  }
}

}  // namespace

std::vector<std::filesystem::path> default_corpus_files() {
  const std::filesystem::path licenses = "/usr/share/common-licenses";
  const auto any = [](const std::filesystem::path&) { return true; };
  std::vector<std::filesystem::path> files;
  // Installed programs have the text of the repository in a folder of its own.
  if (std::filesystem::is_directory(source_tree() / "text")) {
    add_files(source_tree() / "text", any, files);
    return files;
  }
  for (const auto* folder :
       {"db", "experiments", "microbench", "moe", "tests", "tuner", "viewer"}) {
    add_files(source_tree() / folder, is_source_text, files);
  }
  if (files.empty()) {
    add_files(licenses, any, files);
  }
  if (files.empty()) {
    throw InputError(fmt::format("no text in {} nor in {}: name files to train on",
                                 source_tree().string(), licenses.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace moe
