#pragma once

#include <cstddef>
#include <cstdint>
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

  /// Reading them may end this process (SIGBUS) where another program cuts the file short; copy()
  /// does not.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Copies the bytes from `first` on, and says how many could be read: fewer than `to` holds where
  /// the file has meanwhile been cut short, or where its disk fails.
  std::size_t copy(std::size_t first, std::span<std::byte> to) const;
  /// Asks the system to read bytes [first, first + count) while this thread does other things.
  void read_ahead(std::size_t first, std::size_t count) const;
  /// Gives memory back that holds these bytes of the file. They are read from it again when they
  /// are used.
  void forget(std::span<const std::byte> part) const;
  /// The bytes that the file has now.
  std::int64_t size_now() const;
  /// False once another program has cut the file short.
  bool is_whole() const { return size_now() >= static_cast<std::int64_t>(bytes_.size()); }

 private:
  int file_ = -1;
  std::span<const std::byte> bytes_;
};

}  // namespace moe
