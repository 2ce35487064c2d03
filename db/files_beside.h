#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace db {

/// Which file a name means: equal only for the same file.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

/// None where nothing has the name.
std::optional<FileId> file_id(const std::string& path);

/// A database and the write-ahead log and its index that lie beside it while it is written.
struct DatabaseFiles {
  std::optional<FileId> database, log, index;
};

DatabaseFiles files_of(const std::string& path);

/// Removes the log and the index that lie at `path` and are `ours`: another database lies there
/// now, and the next program that writes to it would replay our log into it. Returns false where
/// they stay, because another process has them open.
bool remove_files_beside(const std::string& path, const DatabaseFiles& ours);

}  // namespace db
