#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "db/console/output_error.h"

namespace db {

/// A file named for output that a program adds to while it runs; "-" is stdout. What is there
/// stays.
class GrowingFile {
 public:
  /// Throws OutputError where the name cannot be written to: as OutputFile, and a pipe that no
  /// program reads, which is not waited for.
  explicit GrowingFile(std::string path);
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile();

  /// Adds a text. While the reader of a full pipe takes nothing, `gives_up` is asked whether to
  /// wait on, with the seconds so far. Throws OutputError.
  void write(std::string_view text, const std::function<bool(double waited_s)>& gives_up);

  /// Whether the name still means this file. False where the file has another name now, as after a
  /// log was rotated; true of all but plain files. Throws OutputError where it has none any more:
  /// what was written is gone, and what is added would be.
  bool is_in_place() const;

  /// The bytes of a plain file; none of anything else, descriptors of this process among it
  /// (/dev/stdout): these can neither be read nor cut.
  std::optional<std::int64_t> bytes() const;
  /// Up to `count` bytes of a plain file from `first` on. Fewer where it ends or may not be read.
  std::string read(std::int64_t first, std::int64_t count) const;
  /// Removes all from byte `size` of a plain file on. Throws OutputError.
  void cut(std::int64_t size);

 private:
  std::string path_;
  int file_ = -1;          ///< -1: stdout
  bool is_plain_ = false;  ///< a plain file that was opened by its name
};

}  // namespace db
