#include "moe/train/hugging_face/unfinished_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "db/console/output_target.h"
#include "moe/train/checkpoint/written_file.h"

namespace moe {

UnfinishedFolder::UnfinishedFolder(const std::filesystem::path& parent) {
  constexpr mode_t obeys_umask = 0777;
  constexpr int attempts = 100;
  if (!parent.empty()) make_folder(parent);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto path = parent / fmt::format(".moelab-{}-{}", getpid(), attempt);
    if (mkdir(path.c_str(), obeys_umask) == 0) {
      path_ = path;
      return;
    }
    if (errno != EEXIST) break;
  }
  throw db::open_error((parent.empty() ? "." : parent).string(), errno);
}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace moe
