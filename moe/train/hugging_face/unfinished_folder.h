#pragma once

#include <filesystem>

namespace moe {

/// A new folder beside what is to be made, with a name that nobody else has: .moelab-PID-N. What is
/// written goes there first, and is renamed once it is complete. Removed with the object.
class UnfinishedFolder {
 public:
  /// Throws db::OutputError where none can be made in `parent`.
  explicit UnfinishedFolder(const std::filesystem::path& parent);
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Leaves what is there to somebody.
  void keep() { path_.clear(); }

 private:
  std::filesystem::path path_;
};

}  // namespace moe
