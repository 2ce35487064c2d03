#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/connection.h"
#include "db/files_beside.h"

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
  bool is_another(const std::optional<db::FileId>& file) const;

  const db::Connection* connection_;
  std::optional<db::FileId> file_;
  std::int64_t version_ = 0;
  DatabaseChange last_ = DatabaseChange::none;
};

/// The change in words, for a file that is gone or replaced; empty otherwise.
std::string change_text(DatabaseChange change, const std::string& path);

}  // namespace viewer
