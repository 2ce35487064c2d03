#pragma once

#include <filesystem>

namespace moe {

/// A folder as of a checkpoint that is not complete, made to find out before the first iteration
/// whether there can be one. It is removed with all that is in it.
class FolderTrial {
 public:
  /// Throws db::OutputError with the directory and the reason.
  explicit FolderTrial(const std::filesystem::path& directory);
  ~FolderTrial();
  FolderTrial(const FolderTrial&) = delete;
  FolderTrial& operator=(const FolderTrial&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// Writes a file, and removes it. Throws db::OutputError with the
/// folder of the checkpoints and the reason.
void write_trial(const std::filesystem::path& file);

}  // namespace moe
