#include "db/connection.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "db/inspect.h"
#include "db/transaction.h"
#include "db/translated.h"

namespace db {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<SQLite::Database> open_file(const std::string& path, int flags, double timeout_s) {
  return std::make_unique<SQLite::Database>(path, flags,
                                            static_cast<int>(std::lround(timeout_s * 1000)));
}

void set_journal_mode(const SQLite::Database& database, const std::string& mode, double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {  // SQLite does not wait by itself for this one
    try {
      SQLite::Statement(database, "PRAGMA journal_mode = " + mode).executeStep();
      return;
    } catch (const SQLite::Exception& exception) {
      if (exception.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() > end) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

// Where processes on other computers may have it open too: WAL needs memory that all share.
void use_rollback_journal(SQLite::Database& database, const std::string& path,
                          const std::string& file_system, double timeout_s) {
  set_journal_mode(database, "DELETE", timeout_s);
  database.exec("PRAGMA synchronous = FULL");
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(path).second) {
    spdlog::info(
        "{}: on {}: written with a rollback journal, so that readers and writers wait for "
        "each other",
        path, file_system);
  }
}

void keep_log_at_close(const SQLite::Database& database, bool keep) {
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

// A reader changes no file: it takes the views from this program, but cannot do without tables.
void use_current_schema(SQLite::Database& database, const std::string& path, const Schema& schema) {
  const SchemaState state = state_of(database, schema);
  if (state.lacks_tables) {
    throw Error(ErrorKind::older,
                fmt::format("{}: lacks tables or columns that this program reads; `moe-db check "
                            "--fix --db {}` adds them",
                            path, path));
  }
  if (state.other_views) use_own_views(database, schema);
}

}  // namespace

Connection::Connection(std::unique_ptr<SQLite::Database> database, std::string path,
                       double busy_timeout_s)
    : database_(std::move(database)), path_(std::move(path)), busy_timeout_s_(busy_timeout_s) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&& other) noexcept {
  close();
  database_ = std::move(other.database_);
  path_ = std::move(other.path_);
  busy_timeout_s_ = other.busy_timeout_s_;
  removes_log_ = other.removes_log_;
  files_ = other.files_;
  return *this;
}
Connection::~Connection() { close(); }

// SQLite makes the log for a reader too, but only a writer that is the last to close removes it.
void Connection::close() {
  if (!database_) return;
  database_.reset();
  std::error_code failed;
  if (!removes_log_ || !fs::exists(path_ + "-wal", failed) || has_wal(path_)) return;
  try {
    const SQLite::Database last(path_, SQLite::OPEN_READWRITE);
    last.tableExists("run");            // opens the log
  } catch (const SQLite::Exception&) {  // it stays
  }
}

sqlite3* Connection::handle() const { return database_->getHandle(); }

void Connection::set_busy_timeout(double seconds) {
  busy_timeout_s_ = seconds;
  sqlite3_busy_timeout(handle(), static_cast<int>(std::lround(seconds * 1000)));
}

void Connection::require_in_place() {
  if (path_ == ":memory:") return;
  int moved = 0;
  const int code = sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  const DatabaseFiles there = files_of(path_);
  const bool in_place =
      (code != SQLITE_OK || moved == 0) && (!files_.database || there.database == files_.database);
  if (in_place) {
    files_ = there;
    return;
  }
  std::string message = fmt::format(
      "{}: was deleted or replaced while it was written: what this program stored is "
      "lost",
      path_);
  if (there.database && !remove_files_beside(path_, files_)) {
    message += fmt::format(
        "; {0}-wal and {0}-shm belong to the former file, and another process has them open: end "
        "it and remove both before anything is written to {0}",
        path_);
  }
  throw Error(ErrorKind::gone, message);
}

Connection open_writer(const std::string& path, const OpenOptions& options) {
  const Schema& schema = *options.schema;
  const bool in_memory = path == ":memory:";
  std::error_code ignored;
  const bool created = !in_memory && !fs::exists(path, ignored);
  if (!in_memory) {
    check_place(path, true, options.create);
    inspect(path, schema, true);
  }
  try {
    return translated(path, "open for writing", [&] {
      auto database =
          open_file(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, options.busy_timeout_s);
      keep_log_at_close(*database, true);  // until it is known that the file is ours and whole
      Connection connection(std::move(database), path, options.busy_timeout_s);
      check_identity(identify(connection.database()), path, schema, true);
      connection.database().exec(
          "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
          "PRAGMA journal_size_limit = 67108864");
      bring_up_to_date(connection, schema);
      // After the tables exist, so that the header of the file names moelab even if everything else
      // is still in the log.
      if (const auto network = in_memory ? std::nullopt : options.network(path)) {
        use_rollback_journal(connection.database(), path, *network, options.busy_timeout_s);
      } else if (!in_memory) {
        set_journal_mode(connection.database(), "WAL", options.busy_timeout_s);
      }
      keep_log_at_close(connection.database(), false);
      connection.require_in_place();
      return connection;
    });
  } catch (...) {
    if (created && fs::file_size(path, ignored) == 0 && !ignored) fs::remove(path, ignored);
    throw;
  }
}

Connection open_reader(const std::string& path, const OpenOptions& options) {
  const Schema& schema = *options.schema;
  check_place(path, false, false);
  inspect(path, schema, false);
  const auto open = [&](const std::string& name, int flags) {
    constexpr const char* doing = "open for reading";
    auto database = translated(path, doing, [&] {
      return open_file(name, SQLite::OPEN_READONLY | flags, options.busy_timeout_s);
    });
    const auto look = [&] {
      check_identity(identify(*database), path, schema, false);
      use_current_schema(*database, path, schema);
    };
    translated(path, doing, look, database->getHandle());
    Connection connection(std::move(database), path, options.busy_timeout_s);
    connection.removes_log_ = flags == 0;
    return connection;
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
