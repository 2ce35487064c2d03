#include "db/error.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "db/console/exit_codes.h"

namespace db {
namespace {

// The process that holds SQLite's write lock of a WAL database (byte 120 of the -shm file). Read
// from /proc: opening and closing the file here would drop this process's own locks on it.
std::string describe_writer(const std::string& path) {
  struct stat status {};
  if (stat((path + "-shm").c_str(), &status) != 0) return "another process";
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, mode, access, pid, file;
    long long first = 0, last = 0;
    words >> number >> type >> mode >> access >> pid >> file >> first >> last;
    if (!words || file != wanted || access != "WRITE" || first > 120 || last < 120) continue;
    std::string name;
    std::getline(std::ifstream("/proc/" + pid + "/comm"), name);
    return name.empty() ? "process " + pid : fmt::format("process {} ({})", pid, name);
  }
  return "another process";
}

bool means_disk_full(int code, sqlite3* handle) {
  if ((code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE) return true;
  return (code & 0xff) == SQLITE_IOERR && handle != nullptr &&
         sqlite3_system_errno(handle) == ENOSPC;
}

/// Whether this process can open fewer files than a database has.
bool may_open_no_more() {
  constexpr rlim_t files_of_database = 4, most_to_look_at = 1 << 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > most_to_look_at) return false;
  rlim_t used = 0;
  for (int file = 0; file < static_cast<int>(limit.rlim_cur); ++file) {
    if (fcntl(file, F_GETFD) >= 0) ++used;
  }
  return used + files_of_database > limit.rlim_cur;
}

/// What the machine said, where it and not the file is at fault; 0 where it said nothing of the
/// kind. `last`: errno after the failure.
int fault_of_machine(int code, sqlite3* handle, int last) {
  int error = last;
  if (handle != nullptr) {
    error = sqlite3_system_errno(handle);
    // SQLite calls pages damaged that the disk does not give.
    const bool may_be_read_error = (code & 0xff) == SQLITE_CORRUPT;
    if (may_be_read_error) sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
  }
  if ((code & 0xff) == SQLITE_CANTOPEN && may_open_no_more()) return EMFILE;
  const bool is_one = error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM;
  return is_one ? error : 0;
}

/// The limit of the size of a file (ulimit -f), where this database or a file beside it has come
/// near to it; 0 elsewhere. SQLite does not keep the errno of a failed write.
long long file_limit_reached(int code, const std::string& path) {
  rlimit limit{};
  if ((code & 0xff) != SQLITE_IOERR || getrlimit(RLIMIT_FSIZE, &limit) != 0) return 0;
  constexpr rlim_t longest_write = 64 << 10;
  for (const char* ending : {"", "-wal", "-journal", "-shm"}) {
    struct stat status {};
    const bool there = stat((path + ending).c_str(), &status) == 0;
    if (there && static_cast<rlim_t>(status.st_size) + longest_write >= limit.rlim_cur) {
      return static_cast<long long>(limit.rlim_cur);
    }
  }
  return 0;
}

}  // namespace

int exit_code(const std::exception& exception) {
  const auto* error = dynamic_cast<const Error*>(&exception);
  if (error == nullptr) return kExitFailed;
  const bool under_way = error->kind == ErrorKind::locked || error->kind == ErrorKind::disk_full ||
                         error->kind == ErrorKind::gone;
  return under_way ? kExitFailed : kExitWrongUse;
}

Error translate(int code, const std::string& message, sqlite3* handle, const std::string& path,
                const std::string& doing, double waited_s) {
  const int last = errno;
  if (const long long limit = file_limit_reached(code, path); limit > 0) {
    return {
        ErrorKind::disk_full,
        fmt::format("{}: this process may write files of {} bytes at most ({}); nothing of it was "
                    "stored: raise ulimit -f",
                    path, limit, doing)};
  }
  if (means_disk_full(code, handle)) {
    return {ErrorKind::disk_full,
            fmt::format("{}: the disk is full ({}); nothing of it was stored", path, doing)};
  }
  const int primary = code & 0xff;
  if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_CORRUPT) {
    if (const int fault = fault_of_machine(code, handle, last); fault != 0) {
      const char* what = primary == SQLITE_CANTOPEN ? "opened" : "read or written";
      return {ErrorKind::gone,
              fmt::format("{}: cannot be {} ({}): {}", path, what, doing, std::strerror(fault))};
    }
  }
  switch (primary) {
    case SQLITE_IOERR:
      return {ErrorKind::gone, fmt::format("{}: {}: {}", path, doing, message)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::locked,
              fmt::format("{}: locked: process {} waited {:.1f} s to {}, while {} was writing",
                          path, getpid(), waited_s, doing, describe_writer(path))};
    case SQLITE_NOTADB:
      return {ErrorKind::not_a_database, fmt::format("{}: not a SQLite database", path)};
    case SQLITE_CANTOPEN:
      return {ErrorKind::not_found, fmt::format("{}: cannot be opened ({})", path, doing)};
    case SQLITE_CORRUPT:
      return {ErrorKind::corrupt,
              fmt::format("{}: truncated or damaged ({}: {})", path, doing, message)};
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK) {
        return {ErrorKind::corrupt,
                fmt::format("{0}: a program was killed while it wrote a transaction; the next "
                            "program that writes undoes the transaction, as does `moe-db check "
                            "--fix --db {0}`",
                            path)};
      }
      [[fallthrough]];
    case SQLITE_PERM:
      return {ErrorKind::read_only,
              fmt::format("{}: the file or its directory is read-only ({})", path, doing)};
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return {ErrorKind::invalid, fmt::format("{}: {}: {}", path, doing, message)};
    default:
      return {ErrorKind::sql, fmt::format("{}: {}: {}", path, doing, message)};
  }
}

}  // namespace db
