#include "viewer/model/database_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "db/statement.h"

namespace viewer {

namespace {

// Changes when another connection commits.
std::int64_t data_version(const db::Connection& connection) {
  db::Statement statement(connection, "PRAGMA data_version");
  return statement.step() ? statement.value<std::int64_t>(0) : 0;
}

}  // namespace

std::optional<DatabaseWatch::FileId> DatabaseWatch::file_of(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

DatabaseWatch::DatabaseWatch(const db::Connection& connection)
    : connection_(&connection),
      file_(file_of(connection.path())),
      version_(data_version(connection)) {}

bool DatabaseWatch::is_replaced() const {
  const std::optional<FileId> now = file_of(connection_->path());
  return file_ && now && *now != *file_;
}

DatabaseChange DatabaseWatch::look() {
  DatabaseChange change = DatabaseChange::none;
  if (file_ && !file_of(connection_->path())) change = DatabaseChange::gone;
  if (is_replaced()) change = DatabaseChange::replaced;
  if (change != DatabaseChange::none) {
    return std::exchange(last_, change) == change ? DatabaseChange::none : change;
  }
  last_ = DatabaseChange::none;
  const std::int64_t version = data_version(*connection_);
  return std::exchange(version_, version) == version ? DatabaseChange::none : DatabaseChange::rows;
}

std::string change_text(DatabaseChange change, const std::string& path) {
  if (change == DatabaseChange::gone) {
    return fmt::format("{} was deleted: what is shown was read before", path);
  }
  if (change == DatabaseChange::replaced) {
    return fmt::format("{} was replaced by another file: open it again to see that one", path);
  }
  return "";
}

}  // namespace viewer
