#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "moe/model/model.h"
#include "moe/train/hugging_face/pretrained.h"

namespace moe {

/// What an import makes its checkpoint of. A later one goes on only with the same.
struct ImportSource {
  Model model;
  std::map<std::string, SourceFile> files;
};

/// The folder in which an import writes. What it has written is kept where it is ended, by a signal
/// or a full disk: the next one there goes on. The file import.json says what it is made of and
/// which files are complete. It stays in the checkpoint.
class UnfinishedImport {
 public:
  /// Makes the folder, or takes the one that is there with what is complete in it. Throws
  /// InputError where that is made of something else, with what differs, and db::OutputError.
  UnfinishedImport(std::filesystem::path folder, const ImportSource& source);
  /// Removes the folder where nothing in it is complete.
  ~UnfinishedImport();
  UnfinishedImport(const UnfinishedImport&) = delete;
  UnfinishedImport& operator=(const UnfinishedImport&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  /// The files that are complete.
  const std::map<std::string, FileSeal>& complete() const { return complete_; }
  /// A file that was written and is on the disk.
  void add(const std::string& file, const FileSeal& seal);
  /// What is there is of no use.
  void discard() { complete_.clear(); }
  /// The folder has become a checkpoint.
  void release() { folder_.clear(); }

 private:
  void write() const;

  std::filesystem::path folder_;
  ImportSource source_;
  std::map<std::string, FileSeal> complete_;
};

}  // namespace moe
