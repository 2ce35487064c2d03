#pragma once

#include <stdexcept>
#include <string>

struct sqlite3;

namespace db {

/// What went wrong, for programs that act on it (exit codes, retries) and tests.
enum class ErrorKind {
  not_found,       ///< no such file, no such row
  not_a_database,  ///< the file is not SQLite's
  not_moelab,      ///< a SQLite database of another program
  older,           ///< written by an older moelab
  newer,           ///< written by a newer moelab
  corrupt,         ///< truncated or damaged
  disk_full,
  read_only,  ///< the file or its directory cannot be written
  locked,     ///< another process wrote for longer than the busy timeout
  invalid,    ///< a value that cannot be stored, or a wrong request
  gone,       ///< deleted, replaced or damaged while it was written
  sql,        ///< SQL that does not compile or may not run
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  ErrorKind kind;
};

/// The exit code that an exception means to moe-db and moe-view: 2 for a wrong file or request, 1
/// for what failed under way (a lock, a full disk, a database that was taken away).
int exit_code(const std::exception& error);

/// Turns a SQLite result code into an Error that names the file and, where it is locked, who waited
/// for how long and which process writes. `doing` says what was attempted; `handle` may be null.
Error translate(int code, const std::string& message, sqlite3* handle, const std::string& path,
                const std::string& doing, double waited_s);

}  // namespace db
