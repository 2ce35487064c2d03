#pragma once

#include <filesystem>

namespace moe {

/// Keeps a folder of checkpoints for one training, as long as the object lives and its process
/// does. Two trainings that wrote there would remove each other's files. The folder has to exist; a
/// file ".lock" is made in it, and stays. Where its file system has no locks, nothing is kept and
/// nothing refused.
class FolderLock {
 public:
  /// Waits `patience_s` for a training that is just ending. Throws InputError, which names the
  /// process, where another one still has the folder then, and where ".lock" is a link or anything
  /// but the file that a training makes.
  explicit FolderLock(const std::filesystem::path& directory, double patience_s = kPatience_s);
  static constexpr double kPatience_s = 10;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace moe
