#include "moe/source_tree.h"

#include <system_error>

namespace moe {

std::filesystem::path source_tree() {
  std::error_code ignored;
  auto directory = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  while (directory.has_relative_path()) {
    if (std::filesystem::is_directory(directory / "experiments" / "models", ignored)) {
      return directory;
    }
    directory = directory.parent_path();
  }
  return MOELAB_SOURCE_DIR;
}

}  // namespace moe
