#pragma once

#include <cstdint>
#include <string>

#include "db/schema.h"

namespace SQLite {
class Database;
}

namespace db {

/// The fields of the header of a file.
struct Identity {
  std::int64_t application = 0;
  int version = 0;
  std::int64_t objects = 0;  ///< the number of its tables, indices and views
  std::int64_t bytes = 0;    ///< the size that its pages make up

  bool is_empty() const { return application == 0 && version == 0 && objects == 0; }
};

Identity identify(const SQLite::Database& database);

/// Throws Error (not_moelab, older, newer) unless this program can read a file that says this. A
/// writer may make its tables in an empty one, and bring an older one up to date.
void check_identity(const Identity& found, const std::string& path, const Schema& schema,
                    bool writing);

/// Throws Error where there is no file at `path` that can be opened: a directory, a pipe, nothing,
/// or no permission. Nothing is fine where `create` is set, but "-" is no name of a database.
void check_place(const std::string& path, bool writing, bool create);

/// Looks at a file without leaving a trace, and throws Error (not_a_database, not_moelab, older,
/// newer, corrupt) where it is not ours: before SQLite could make files beside it or replay its
/// journal. It takes no locks, so what a file that others write meanwhile looks like is left to the
/// opening that follows.
void inspect(const std::string& path, const Schema& schema, bool writing);

/// A "file:" name that keeps SQLite from creating, locking or changing anything.
std::string immutable_uri(const std::string& path);

/// True where a write-ahead log with something in it lies beside the file.
bool has_wal(const std::string& path);

std::string parent_of(const std::string& path);

}  // namespace db
