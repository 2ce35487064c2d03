#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace moe {

/// A whole file as read-only memory, paged in as it is used and shared by all ranks of a host.
class MappedFile {
 public:
  /// Throws InputError with the file and the reason.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  /// False once another program has cut the file short: reading the missing bytes would end this
  /// process (SIGBUS).
  bool is_whole() const;

 private:
  int file_ = -1;
  std::span<const std::byte> bytes_;
};

}  // namespace moe
