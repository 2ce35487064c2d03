#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace moe {

/// A new file that is written from its begin to its end, but for parts that are written again; a
/// name that is there already is a failure.
/// Every failure throws std::runtime_error with the file, the part under way and the reason.
class WrittenFile {
 public:
  explicit WrittenFile(std::filesystem::path path);
  ~WrittenFile();
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  /// `part`: the name of what is written, for messages: "tensor head.weight".
  void write(std::span<const std::byte> bytes, std::string_view part);
  /// Replaces bytes that were written, from `first` on.
  void write_again(std::size_t first, std::span<const std::byte> bytes, std::string_view part);
  /// Waits until all is on the disk, and closes the file.
  void close();

 private:
  [[noreturn]] void fail(std::string_view part, int error) const;

  std::filesystem::path path_;
  int file_ = -1;
};

/// Writes a new file that has this text alone, and waits until it is on the disk. Throws as
/// WrittenFile; `part` is the name of the text.
void write_text(const std::filesystem::path& path, std::string_view text, std::string_view part);

/// Makes a folder and those above it where they are not there. Throws db::OutputError.
void make_folder(const std::filesystem::path& folder);

/// Waits until the names in a folder are on the disk: files that were made, renamed or removed.
void sync_folder(const std::filesystem::path& folder);

}  // namespace moe
