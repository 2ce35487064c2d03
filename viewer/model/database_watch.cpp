#include "viewer/model/database_watch.h"

#include <fmt/format.h>

#include <utility>

#include "db/statement.h"

namespace viewer {

namespace {

// Changes when another connection commits.
std::int64_t data_version(const db::Connection& connection) {
  db::Statement statement(connection, "PRAGMA data_version");
  return statement.step() ? statement.value<std::int64_t>(0) : 0;
}

}  // namespace

DatabaseWatch::DatabaseWatch(const db::Connection& connection)
    : connection_(&connection),
      file_(db::file_id(connection.path())),
      version_(data_version(connection)) {}

bool DatabaseWatch::is_another(const std::optional<db::FileId>& file) const {
  return file_ && file && *file != *file_;
}

bool DatabaseWatch::is_replaced() const { return is_another(db::file_id(connection_->path())); }

DatabaseChange DatabaseWatch::look() {
  DatabaseChange change = DatabaseChange::none;
  const std::optional<db::FileId> now = db::file_id(connection_->path());
  if (file_ && !now) change = DatabaseChange::gone;
  if (is_another(now)) change = DatabaseChange::replaced;
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
