#include "db/console/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace db {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// N of /dev/fd/N, /proc/self/fd/N and links to them (/dev/stdout); -1 for any other name.
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

/// Follows links; the last one may name a file that does not exist. The name of a descriptor of
/// this process stays as it is.
fs::path follow_links(fs::path path) {
  std::error_code ignored;
  for (int links = 0; links < kMostLinks && own_descriptor(path) < 0; ++links) {
    if (!fs::is_symlink(fs::symlink_status(path, ignored))) break;
    path = directory_of(path) / fs::read_symlink(path, ignored);  // an absolute one replaces
  }
  return path;
}

bool is_sqlite(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::string begin(magic.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == magic;
}

}  // namespace

OutputError open_error(const std::string& name, int code) {
  const bool full = code == ENOSPC || code == EDQUOT;
  return {fmt::format("{}: cannot be written: {}", name, std::strerror(code)),
          full ? kExitFailed : kExitWrongUse};
}

OutputError write_error(const std::string& name, int code) {
  return {fmt::format("{}: cannot be written: {}", name, std::strerror(code)),
          code == EPIPE ? kExitDone : kExitFailed};
}

int flushed(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return code;
  if (errno == EPIPE) return code;
  spdlog::error(write_error("stdout", errno).what());
  return kExitFailed;
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path == "-") {
    file_ = stdout;
    return;
  }
  if (path.empty()) fail_to_open(ENOENT);
  const fs::path target = follow_links(path);
  if (const int descriptor = own_descriptor(target); descriptor >= 0) {
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // keeps its place in the file
    file_ = copy < 0 ? nullptr : fdopen(copy, "w");
    if (file_ == nullptr) fail_to_open(errno);
    return;
  }
  struct stat status {};
  const bool exists = stat(target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail_to_open(errno);
  if (exists && S_ISDIR(status.st_mode)) fail_to_open(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    open_through(target);
    return;
  }
  if (exists && faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) fail_to_open(errno);
  if (exists && is_sqlite(target)) {
    throw OutputError(fmt::format("{}: is a database: name another file for output", path_),
                      kExitWrongUse);
  }
  open_beside(target);
  if (!exists) return;
  const int descriptor = fileno(file_);
  // The file keeps its owner where this process may set it.
  [[maybe_unused]] const int owned = fchown(descriptor, status.st_uid, status.st_gid);
  fchmod(descriptor, status.st_mode & 07777U);
}

void OutputFile::open_through(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0 || (file_ = fdopen(descriptor, "w")) == nullptr) fail_to_open(errno);
}

void OutputFile::open_beside(const std::string& path) {
  int descriptor = -1;
  for (int attempt = 0; descriptor < 0 && attempt < 100; ++attempt) {
    temporary_ = directory_of(path) / fmt::format(".moelab-{}-{}", getpid(), attempt);
    descriptor = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0 || (file_ = fdopen(descriptor, "w")) == nullptr) fail_to_open(errno);
  replaced_ = path;
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!replaced_.empty()) std::remove(temporary_.c_str());  // commit() has not been reached
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail_to_write(errno);
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0) fail_to_write(errno);
  if (file_ == stdout) return;
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!closed) fail_to_write(errno);
  if (replaced_.empty()) return;
  if (std::rename(temporary_.c_str(), replaced_.c_str()) != 0) fail_to_write(errno);
  replaced_.clear();
}

void OutputFile::fail_to_open(int code) const { throw open_error(path_, code); }

void OutputFile::fail_to_write(int code) const {
  throw write_error(path_ == "-" ? "stdout" : path_, code);
}

void write_output(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
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
