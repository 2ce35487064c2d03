#include "db/inspect.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "db/connection.h"
#include "db/translated.h"

namespace db {
namespace {

namespace fs = std::filesystem;

/// The kind of a file that reading would wait for, or of which it would never reach the end.
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

std::int64_t pragma(const SQLite::Database& database, const std::string& name) {
  SQLite::Statement statement(database, "PRAGMA " + name);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  }
  return value;
}

std::string read_bytes(std::ifstream& file, std::size_t at, std::size_t count) {
  std::string bytes(count, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(at));
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

constexpr std::size_t kApplicationIdAt = 68;  // in the first page of a database

/// Whether the first page of a database begins with these bytes and names moelab.
bool names_moelab(const std::string& page) {
  return page.size() >= kApplicationIdAt + 4 &&
         big_endian(page, kApplicationIdAt) == static_cast<std::uint32_t>(kApplicationId);
}

/// Whether a rollback journal lies beside the file that a program of moelab left, or writes just
/// now: that of the transaction that makes a new file, or of one in a file that names moelab.
/// SQLite undoes that transaction when it opens the file.
bool has_own_journal(const std::string& path) {
  std::ifstream journal(path + "-journal", std::ios::binary);
  if (!journal) return false;
  // Magic, records, nonce, pages before, bytes of a sector, bytes of a page; then, from the second
  // sector on, records of a page number, the page as it was, and a checksum.
  const std::string header = read_bytes(journal, 0, 28);
  constexpr std::string_view kMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  if (header.size() < 28 || header.substr(0, 8) != kMagic) return false;
  const std::uint32_t pages_before = big_endian(header, 16);
  if (pages_before == 0) return true;
  const std::size_t sector = big_endian(header, 20), page = big_endian(header, 24);
  for (std::size_t at = sector;; at += page + 8) {
    const std::string record = read_bytes(journal, at, 4 + kApplicationIdAt + 4);
    if (record.size() < 4 + kApplicationIdAt + 4) break;
    if (big_endian(record, 0) == 1) return names_moelab(record.substr(4));
  }
  std::ifstream file(path, std::ios::binary);
  return names_moelab(read_bytes(file, 0, kApplicationIdAt + 4));
}

/// Reads the file without locks. Throws what speaks against opening it.
void inspect_once(const std::string& path, const Schema& schema, bool writing) {
  std::error_code error;
  if (fs::file_size(path, error) == 0 && !error && writing) return;  // an empty file is a new one
  if (error || has_own_journal(path)) return;
  // With a log beside it, the file alone may be out of date: the real opening judges what is
  // corrupt.
  const bool logged = has_wal(path);
  try {
    const Identity found = translated(path, "open", [&] {
      return identify(
          SQLite::Database(immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI));
    });
    check_identity(found, path, schema, writing);
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
    if (!logged && bytes < found.bytes) {
      throw Error(ErrorKind::corrupt,
                  fmt::format("{}: truncated: {} bytes of {}", path, bytes, found.bytes));
    }
  } catch (const Error& found) {
    if (found.kind != ErrorKind::corrupt || !(logged || has_wal(path))) throw;
  }
}

}  // namespace

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

bool has_wal(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path + "-wal", error);
  return !error && bytes > 0;
}

std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const unsigned char c : fs::absolute(path).string()) {
    const bool plain = std::isalnum(c) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri + "?mode=ro&immutable=1";
}

Identity identify(const SQLite::Database& database) {
  SQLite::Statement count(database, "SELECT count(*) FROM sqlite_schema");
  count.executeStep();
  return {pragma(database, "application_id"), static_cast<int>(pragma(database, "user_version")),
          count.getColumn(0).getInt64(),
          pragma(database, "page_count") * pragma(database, "page_size")};
}

void check_identity(const Identity& found, const std::string& path, const Schema& schema,
                    bool writing) {
  if (found.is_empty() && writing) return;
  if (found.application != kApplicationId) {
    throw Error(ErrorKind::not_moelab,
                fmt::format("{}: not a moelab database but {}", path,
                            found.is_empty()
                                ? "an empty one"
                                : fmt::format("another program's (application_id {}, {} tables, "
                                              "indices and views)",
                                              found.application, found.objects)));
  }
  if (found.version > schema.version) {
    throw Error(ErrorKind::newer,
                fmt::format("{}: version {}, made by a newer moelab; this program knows up to "
                            "version {}",
                            path, found.version, schema.version));
  }
  constexpr int kOldest = 7;  // that a writer can bring up to date (schema.h)
  if (found.version < kOldest) {
    throw Error(ErrorKind::older,
                fmt::format("{}: version {}, made by an older moelab, cannot be made version {}; "
                            "only versions from {} on can: begin a new database, and read this one "
                            "with the program that made it",
                            path, found.version, schema.version, kOldest));
  }
  if (found.version < schema.version && !writing) {
    throw Error(ErrorKind::older,
                fmt::format("{0}: version {1}, made by an older moelab; this program reads version "
                            "{2}: `moe-db check --fix --db {0}` makes it version {2}",
                            path, found.version, schema.version));
  }
}

void check_place(const std::string& path, bool writing, bool create) {
  std::error_code ignored;
  if (path == "-") {
    throw Error(ErrorKind::invalid,
                "-: a database cannot be on stdin or stdout: expected the name of a file (./- for "
                "one of this name)");
  }
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

void inspect(const std::string& path, const Schema& schema, bool writing) {
  const auto written_at = [&] {
    std::error_code ignored;
    return fs::last_write_time(path, ignored);
  };
  const fs::file_time_type before = written_at();
  try {
    inspect_once(path, schema, writing);
    return;
  } catch (const Error& found) {
    if (found.kind != ErrorKind::corrupt) throw;
  }
  // Another process may have moved its log into the file meanwhile and removed the log. If the
  // time of the last write stays for longer than a tick of the kernel's clock, nobody wrote while
  // the file was read again. One that changes goes to the real opening, which waits for locks.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  try {
    inspect_once(path, schema, writing);
  } catch (const Error& found) {
    if (found.kind != ErrorKind::corrupt || written_at() == before) throw;
  }
}

}  // namespace db
