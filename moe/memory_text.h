#pragma once

#include <string_view>

namespace moe {

/// A file in memory with a text, which a child process is given as its stdin. All of it is there
/// before the child begins, so nobody waits for a child that reads late, or not at all. It has no
/// name in a file system, so nothing of it remains.
class MemoryText {
 public:
  /// Throws std::system_error where there can be no such file.
  explicit MemoryText(std::string_view text);
  MemoryText(const MemoryText&) = delete;
  MemoryText& operator=(const MemoryText&) = delete;
  ~MemoryText();

  int file() const { return file_; }  ///< to be read from its begin; closed by exec

 private:
  int file_;
};

}  // namespace moe
