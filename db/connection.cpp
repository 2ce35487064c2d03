#include "db/connection.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "db/transaction.h"

namespace db {
namespace {

namespace fs = std::filesystem;

// Fields of the header of a file, which is read without opening the database.
struct Identity {
  std::int64_t application = 0;
  int version = 0;
  std::int64_t objects = 0;  // tables, indices, views of whoever made it
  std::int64_t bytes = 0;    // that its pages take
};

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

bool has_wal(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path + "-wal", error);
  return !error && bytes > 0;
}

// "file:" name that keeps SQLite from creating, locking or changing anything.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const unsigned char c : fs::absolute(path).string()) {
    const bool plain = std::isalnum(c) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri + "?mode=ro&immutable=1";
}

std::unique_ptr<SQLite::Database> open_file(const std::string& path, int flags, double timeout_s) {
  return std::make_unique<SQLite::Database>(path, flags,
                                            static_cast<int>(std::lround(timeout_s * 1000)));
}

std::int64_t pragma(const SQLite::Database& database, const std::string& name) {
  SQLite::Statement statement(database, "PRAGMA " + name);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

Identity identify(const SQLite::Database& database) {
  SQLite::Statement count(database, "SELECT count(*) FROM sqlite_schema");
  count.executeStep();
  return {pragma(database, "application_id"), static_cast<int>(pragma(database, "user_version")),
          count.getColumn(0).getInt64(),
          pragma(database, "page_count") * pragma(database, "page_size")};
}

// Runs `open` with every SQLite exception told as an Error.
template <class Function>
auto translated(const std::string& path, const std::string& doing, Function open) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    return open();
  } catch (const SQLite::Exception& exception) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    throw translate(exception.getExtendedErrorCode(), exception.what(), nullptr, path, doing,
                    waited.count());
  }
}

// What reading would wait for or never end.
const char* what_is_no_file(const std::string& path) {
  std::error_code ignored;
  switch (fs::status(path, ignored).type()) {
    case fs::file_type::directory:
      return "a directory";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::socket:
      return "a socket";
    default:
      return nullptr;
  }
}

void check_place(const std::string& path, bool writing, bool create) {
  std::error_code ignored;
  if (const char* what = what_is_no_file(path)) {
    throw Error(ErrorKind::not_a_database, fmt::format("{}: is {}, not a database", path, what));
  }
  if (!fs::exists(path, ignored)) {
    if (!create) throw Error(ErrorKind::not_found, path + ": no such file");
    if (!fs::is_directory(parent_of(path), ignored)) {
      throw Error(ErrorKind::not_found, fmt::format("{}: no directory {}", path, parent_of(path)));
    }
  }
  if (!writing && faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    throw Error(ErrorKind::not_found, path + ": may not be read");
  }
  // Both: SQLite keeps the write-ahead log beside the file.
  const bool new_file = !fs::exists(path, ignored);
  if (writing && ((!new_file && faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) ||
                  faccessat(AT_FDCWD, parent_of(path).c_str(), W_OK, AT_EACCESS) != 0)) {
    throw Error(ErrorKind::read_only, fmt::format("{}: the file or its directory {} is read-only",
                                                  path, parent_of(path)));
  }
}

void check_identity(const Identity& found, const std::string& path, int newest, bool writing) {
  const bool empty = found.application == 0 && found.version == 0 && found.objects == 0;
  if (empty && writing) return;
  if (found.application != kApplicationId) {
    throw Error(ErrorKind::not_moelab,
                fmt::format("{}: not a moelab database but {}", path,
                            empty ? "an empty one"
                                  : fmt::format("another program's (application_id {}, {} tables, "
                                                "indices and views)",
                                                found.application, found.objects)));
  }
  if (found.version > newest) {
    throw Error(ErrorKind::newer,
                fmt::format("{}: version {}, made by a newer moelab; this program knows up to "
                            "version {}",
                            path, found.version, newest));
  }
  if (found.version < newest && !writing) {
    throw Error(ErrorKind::older, fmt::format("{}: version {}, this program reads version {}; "
                                              "`moe-db check --fix --db {}` brings it up to date",
                                              path, found.version, newest, path));
  }
}

// Refuses what is not ours before SQLite could create -wal and -shm files or replay a journal.
void inspect(const std::string& path, int newest, bool writing) {
  std::error_code error;
  if (fs::file_size(path, error) == 0 && !error && writing) return;  // an empty file is a new one
  if (error) return;
  // With a log beside it, the file alone may be behind: the real opening judges what is corrupt.
  const bool logged = has_wal(path);
  try {
    const auto found = translated(path, "open", [&] {
      return identify(*open_file(immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI, 0));
    });
    check_identity(found, path, newest, writing);
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
    if (!logged && bytes < found.bytes) {
      throw Error(ErrorKind::corrupt,
                  fmt::format("{}: truncated: {} bytes of {}", path, bytes, found.bytes));
    }
  } catch (const Error& found) {
    if (found.kind != ErrorKind::corrupt || !(logged || has_wal(path))) throw;
  }
}

void migrate(Connection& connection, const std::vector<Migration>& migrations) {
  const int newest = migrations.back().version;
  if (pragma(connection.database(), "user_version") == newest) return;
  Transaction transaction(connection, "create the tables");
  // Another process may have done it while this one waited for the lock.
  const auto found = identify(connection.database());
  check_identity(found, connection.path(), newest, true);
  for (const Migration& migration : migrations) {
    if (migration.version <= found.version) continue;
    connection.database().exec(migration.sql);
    connection.database().exec(fmt::format("PRAGMA user_version = {}", migration.version));
  }
  connection.database().exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  transaction.commit();
}

// Done after the tables exist, so that the header of the file names moelab even if everything else
// is still in the log.
void use_wal(const SQLite::Database& database, double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {  // SQLite does not wait by itself for this one
    try {
      SQLite::Statement(database, "PRAGMA journal_mode = WAL").executeStep();
      return;
    } catch (const SQLite::Exception& exception) {
      if (exception.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() > end) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

void keep_log_at_close(const SQLite::Database& database) {
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace

Connection::Connection(std::unique_ptr<SQLite::Database> database, std::string path,
                       double busy_timeout_s)
    : database_(std::move(database)), path_(std::move(path)), busy_timeout_s_(busy_timeout_s) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

sqlite3* Connection::handle() const { return database_->getHandle(); }

void Connection::set_busy_timeout(double seconds) {
  busy_timeout_s_ = seconds;
  sqlite3_busy_timeout(handle(), static_cast<int>(std::lround(seconds * 1000)));
}

void Connection::require_in_place() const {
  int moved = 0;
  const int code = sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code == SQLITE_OK && moved != 0) {
    throw Error(ErrorKind::gone,
                fmt::format("{}: was deleted or replaced while it was written: what this program "
                            "stored is lost",
                            path_));
  }
}

Connection open_writer(const std::string& path, const OpenOptions& options) {
  const bool in_memory = path == ":memory:";
  const int newest = options.migrations.back().version;
  std::error_code ignored;
  const bool created = !in_memory && !fs::exists(path, ignored);
  if (!in_memory) {
    check_place(path, true, options.create);
    inspect(path, newest, true);
  }
  try {
    return translated(path, "open for writing", [&] {
      auto database =
          open_file(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, options.busy_timeout_s);
      keep_log_at_close(*database);  // until it is known that the file is ours and whole
      Connection connection(std::move(database), path, options.busy_timeout_s);
      check_identity(identify(connection.database()), path, newest, true);
      connection.database().exec(
          "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
          "PRAGMA journal_size_limit = 67108864");
      migrate(connection, options.migrations);
      if (!in_memory) use_wal(connection.database(), options.busy_timeout_s);
      sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
      return connection;
    });
  } catch (...) {
    if (created && fs::file_size(path, ignored) == 0 && !ignored) fs::remove(path, ignored);
    throw;
  }
}

Connection open_reader(const std::string& path, const OpenOptions& options) {
  const int newest = options.migrations.back().version;
  check_place(path, false, false);
  inspect(path, newest, false);
  const auto open = [&](const std::string& name, int flags) {
    return translated(path, "open for reading", [&] {
      auto database = open_file(name, SQLite::OPEN_READONLY | flags, options.busy_timeout_s);
      check_identity(identify(*database), path, newest, false);
      return Connection(std::move(database), path, options.busy_timeout_s);
    });
  };
  try {
    return open(path, 0);
  } catch (const Error& error) {
    const bool fixed = faccessat(AT_FDCWD, parent_of(path).c_str(), W_OK, AT_EACCESS) != 0;
    if (!fixed || (error.kind != ErrorKind::not_found && error.kind != ErrorKind::read_only)) throw;
  }
  // SQLite found no lock files and may not create them: the file stands still, unless rows are left
  // in a log.
  if (has_wal(path)) {
    throw Error(ErrorKind::read_only,
                fmt::format("{}: its newest rows are in {}-wal, which cannot be read in a "
                            "read-only directory; copy both files elsewhere",
                            path, path));
  }
  return open(immutable_uri(path), SQLite::OPEN_URI);
}

}  // namespace db
