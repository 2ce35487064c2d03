#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "db/error.h"
#include "db/file_system.h"
#include "db/files_beside.h"
#include "db/schema.h"

namespace SQLite {
class Database;
}

namespace db {

/// Stands in the header of every moelab database ("moel"), so that no other program's file is taken
/// for one.
inline constexpr std::int32_t kApplicationId = 0x6d6f656c;

struct OpenOptions {
  double busy_timeout_s = 10;  ///< how long to wait for another writer
  bool create = true;          ///< whether a writer makes the file where there is none
  const Schema* schema = &current_schema();  ///< tests pass their own
  /// The network file system that a path lies on; tests pass their own.
  std::function<std::optional<std::string>(const std::string& path)> network = network_file_system;
};

/// An open moelab database: exists only while it is valid. Move-only; one per thread.
class Connection {
 public:
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  SQLite::Database& database() const { return *database_; }
  sqlite3* handle() const;
  const std::string& path() const { return path_; }
  double busy_timeout_s() const { return busy_timeout_s_; }
  /// How long writing waits for another writer from now on.
  void set_busy_timeout(double seconds);
  /// Throws Error (gone) where another file, or none, has the name of the one that is open: what is
  /// written would be lost. Removes the log that would spoil the other file (files_beside.h).
  void require_in_place();

 private:
  friend Connection open_writer(const std::string&, const OpenOptions&);
  friend Connection open_reader(const std::string&, const OpenOptions&);
  Connection(std::unique_ptr<SQLite::Database> database, std::string path, double busy_timeout_s);
  void close();

  std::unique_ptr<SQLite::Database> database_;
  std::string path_;
  double busy_timeout_s_;
  bool removes_log_ = false;  ///< a reader that may remove an empty log when it is the last
  DatabaseFiles files_;       ///< the files when the database was last known to be in place
};

/// Opens a moelab database for writing; creates it where there is none (in a directory that there
/// is), and brings its tables and views up to date (schema.h). ":memory:" makes one that lives as
/// long as the connection.
/// WAL, so that readers neither block it nor are blocked; any number of writers may be open, one at
/// a time is inside a transaction. On a network file system a rollback journal takes its place, since
/// WAL needs memory that all processes share; an info says so. Throws Error; the file is then byte
/// for byte as it was, unless it was brought up to date in part.
Connection open_writer(const std::string& path, const OpenOptions& options = {});

/// Opens a moelab database for reading only, also from a read-only medium. Its views are those of
/// this program, whatever the file has. Throws Error; never changes the file, and leaves no empty log
/// beside it.
Connection open_reader(const std::string& path, const OpenOptions& options = {});

}  // namespace db
