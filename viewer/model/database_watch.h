#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "db/connection.h"

namespace viewer {

/// What has become of the database since the last look.
enum class DatabaseChange {
  none,
  rows,      ///< another process has written
  gone,      ///< no file has its name any more
  replaced,  ///< another file has its name
};

/// Looks whether a database that is shown has changed. Borrows the connection.
class DatabaseWatch {
 public:
  explicit DatabaseWatch(const db::Connection& connection);

  /// Costs two system calls and no reading of rows. A file that is gone or replaced is said once.
  /// Throws db::Error.
  DatabaseChange look();
  /// Whether another file has the path now.
  bool is_replaced() const;

 private:
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, number on it
  static std::optional<FileId> file_of(const std::string& path);

  const db::Connection* connection_;
  std::optional<FileId> file_;
  std::int64_t version_ = 0;
  DatabaseChange last_ = DatabaseChange::none;
};

/// The change in words, for a file that is gone or replaced; empty otherwise.
std::string change_text(DatabaseChange change, const std::string& path);

}  // namespace viewer
