#include "moe/source_tree.h"

#include <system_error>

namespace moe {

std::filesystem::path program_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::filesystem::path source_tree() {
  std::error_code ignored;
  const auto has_models = [&](const std::filesystem::path& folder) {
    return std::filesystem::is_directory(folder / "experiments" / "models", ignored);
  };
  for (auto folder = program_folder(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (has_models(folder)) return folder;
    if (has_models(folder / "share" / "moelab")) return folder / "share" / "moelab";
  }
  return MOELAB_SOURCE_DIR;
}

}  // namespace moe
