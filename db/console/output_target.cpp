#include "db/console/output_target.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

namespace db {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;

bool is_sqlite(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;  // reading a pipe would wait
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::string begin(magic.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == magic;
}

}  // namespace

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

int own_descriptor(const fs::path& path) {
  std::error_code ignored;
  const std::string name = path.filename();
  const bool number =
      !name.empty() && name.size() < 9 &&
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number ||
      fs::canonical(directory_of(path), ignored) != fmt::format("/proc/{}/fd", getpid())) {
    return -1;
  }
  return std::stoi(name);
}

fs::path follow_links(fs::path path) {
  std::error_code ignored;
  for (int links = 0; links < kMostLinks && own_descriptor(path) < 0; ++links) {
    if (!fs::is_symlink(fs::symlink_status(path, ignored))) break;
    path = directory_of(path) / fs::read_symlink(path, ignored);  // an absolute one replaces
  }
  return path;
}

void refuse_database(const std::string& name, const fs::path& target) {
  if (is_sqlite(target)) {
    throw OutputError(fmt::format("{}: is a database: name another file for output", name),
                      kExitWrongUse);
  }
  const std::string path = target.string();
  for (const std::string_view suffix : {"-wal", "-shm", "-journal"}) {
    if (!path.ends_with(suffix)) continue;
    const std::string database = path.substr(0, path.size() - suffix.size());
    if (!is_sqlite(database)) continue;
    throw OutputError(
        fmt::format("{}: belongs to the database {}: name another file for output", name, database),
        kExitWrongUse);
  }
}

OutputError open_error(const std::string& name, int code) {
  const bool full = code == ENOSPC || code == EDQUOT;
  return {fmt::format("{}: cannot be written: {}", name, std::strerror(code)),
          full ? kExitFailed : kExitWrongUse};
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  if (stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0) {
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  }
  const fs::path x = follow_links(a), y = follow_links(b);
  std::error_code ignored;
  return x.filename() == y.filename() && fs::equivalent(directory_of(x), directory_of(y), ignored);
}

}  // namespace db
