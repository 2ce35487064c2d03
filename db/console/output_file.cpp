#include "db/console/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "db/console/output_target.h"

namespace db {
namespace {

namespace fs = std::filesystem;

/// Whether the reader of a pipe or socket that stdout is has gone away.
bool reader_is_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

}  // namespace

OutputError write_error(const std::string& name, int code) {
  return {fmt::format("{}: cannot be written: {}", name, std::strerror(code)),
          code == EPIPE ? kExitDone : kExitFailed};
}

int flushed(int code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return code;
  // A stream remembers that a write has failed, but not why.
  if (errno == EPIPE || reader_is_gone()) return code;
  if (errno == 0) {
    spdlog::error("stdout: not all of it could be written");
  } else {
    spdlog::error(write_error("stdout", errno).what());
  }
  return kExitFailed;
}

void expect_output(const std::string& path) {
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  // The reader of a pipe takes it for the end where the pipe is opened and closed.
  if (path == "-" || (is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) return;
  const OutputFile tried(path);
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
  refuse_database(path_, target);
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

}  // namespace db
