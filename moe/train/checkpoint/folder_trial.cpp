#include "moe/train/checkpoint/folder_trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "db/console/output_target.h"

namespace moe {

FolderTrial::FolderTrial(const std::filesystem::path& directory)
    // prepare_folder() removes one of this name where its process was killed.
    : folder_(directory / fmt::format("iteration-trial-{}.partial", getpid())) {
  std::error_code failed;
  std::filesystem::create_directory(folder_, failed);
  if (failed) throw db::open_error(directory.string(), failed.value());
}

FolderTrial::~FolderTrial() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void write_trial(const std::filesystem::path& file) {
  constexpr std::string_view text = "a trial";
  constexpr mode_t readable_by_all = 0644;
  const int descriptor =
      open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, readable_by_all);
  const bool written = descriptor >= 0 && ::write(descriptor, text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (!written) throw db::open_error(file.parent_path().parent_path().string(), error);
}

}  // namespace moe
