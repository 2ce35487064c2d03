#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "db/console/output_error.h"

namespace db {

/// Flushes stdout, of C and of C++, and returns `code`, also where a reader has closed it. Where
/// stdout could not be written in full for another reason, it says why on stderr and returns 1.
int flushed(int code);

/// A file named for output (`-o`, `--trace`, `--screenshot`); "-" is stdout. Links, devices and
/// pipes are written directly. A plain file is replaced once everything is written, by a temporary
/// file in the same directory with the same mode; until then, and where that fails, it keeps its
/// contents.
class OutputFile {
 public:
  /// Throws OutputError where the name cannot be written to: no such directory, a directory, not
  /// permitted, a SQLite database.
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Both functions throw OutputError.
  void write(std::string_view text);
  void commit();

 private:
  void open_through(const std::string& path);
  void open_beside(const std::string& path);
  [[noreturn]] void fail_to_open(int code) const;
  [[noreturn]] void fail_to_write(int code) const;

  std::string path_;       ///< the name that was given
  std::string replaced_;   ///< the plain file that commit() replaces, links followed; or empty
  std::string temporary_;  ///< the file that replaces it
  std::FILE* file_ = nullptr;
};

/// Writes this text to an OutputFile.
void write_output(const std::string& path, std::string_view text);

/// Throws as the constructor of OutputFile, and leaves all as it is: for programs that compute
/// before they write.
void expect_output(const std::string& path);

}  // namespace db
