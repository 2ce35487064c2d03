#include "db/files_beside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace db {
namespace {

/// Every connection holds a shared lock on this byte of the index (SQLite's "dead man switch").
constexpr off_t kConnectionLock = 128;

/// Whether no other process has the index open. Closing the file gives up this process's own locks
/// on it: only for a database that is lost anyway.
bool is_ours_alone(const std::string& index) {
  const int descriptor = open(index.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kConnectionLock;
  lock.l_len = 1;
  const bool alone = fcntl(descriptor, F_SETLK, &lock) == 0;
  close(descriptor);
  return alone;
}

}  // namespace

std::optional<FileId> file_id(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

DatabaseFiles files_of(const std::string& path) {
  return {file_id(path), file_id(path + "-wal"), file_id(path + "-shm")};
}

bool remove_files_beside(const std::string& path, const DatabaseFiles& ours) {
  const DatabaseFiles there = files_of(path);
  const bool our_log = there.log && there.log == ours.log;
  const bool our_index = there.index && there.index == ours.index;
  if (our_index && !is_ours_alone(path + "-shm")) return false;
  if (our_log) unlink((path + "-wal").c_str());
  if (our_index) unlink((path + "-shm").c_str());
  return true;
}

}  // namespace db
