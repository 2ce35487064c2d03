#pragma once

#include <string>

namespace moe {

/// A file in memory, without a name in any file system, through which other processes of this user
/// on this machine tell this one something. Nothing of it remains, however this process ends.
class MemoryFile {
 public:
  /// `name`: what the file is for. Puts its path into `variable` of the environment, as long as it
  /// lives. Throws std::system_error where there can be no such file.
  MemoryFile(const char* name, const char* variable);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  /// All that it holds.
  std::string text() const;

 private:
  const char* variable_;
  int file_;
};

/// The file that `variable` names, open for writing; -1 where there is none, or where the path, on
/// another machine, is that of another file. `flags`: further ones of open().
int open_memory_file(const char* name, const char* variable, int flags = 0);

}  // namespace moe
