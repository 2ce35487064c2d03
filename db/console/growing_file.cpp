#include "db/console/growing_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "db/console/output_target.h"

namespace db {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPatience_ms = 100;
constexpr mode_t kForAll = 0666;  // less the umask

std::string name_of_descriptor(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

/// A pipe anew, so that writes to it do not wait; anything else shares its place with the original.
int another_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode)) {
    const int pipe =
        open(name_of_descriptor(descriptor).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe >= 0) return pipe;
  }
  return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

bool is_pipe(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_fifo(path, ignored);
}

}  // namespace

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") return;
  const std::filesystem::path target = follow_links(path_);
  if (const int descriptor = own_descriptor(target); descriptor >= 0) {
    file_ = another_of(descriptor);
    if (file_ < 0) throw open_error(path_, errno);
    return;
  }
  refuse_database(path_, target);
  file_ = open(target.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
               kForAll);
  const int error = errno;
  struct stat status {};
  is_plain_ = file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (file_ >= 0) return;
  if (error == ENXIO && is_pipe(target)) {
    throw OutputError(fmt::format("{}: no program reads this pipe: begin its reader first", path_),
                      kExitWrongUse);
  }
  throw open_error(path_, error);
}

GrowingFile::~GrowingFile() {
  if (file_ >= 0) close(file_);
}

void GrowingFile::write(std::string_view text, const std::function<bool(double)>& gives_up) {
  if (file_ < 0) {
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written) throw write_error("stdout", errno);
    return;
  }
  auto begin = Clock::now();
  while (!text.empty()) {
    const ssize_t count = ::write(file_, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
      begin = Clock::now();
    } else if (errno == EAGAIN) {
      const double waited_s = std::chrono::duration<double>(Clock::now() - begin).count();
      if (gives_up(waited_s)) {
        throw OutputError(fmt::format("{}: cannot be written: its reader has taken nothing for "
                                      "{:.1f} s",
                                      path_, waited_s),
                          kExitFailed);
      }
      pollfd file{file_, POLLOUT, 0};
      poll(&file, 1, kPatience_ms);
    } else if (errno != EINTR) {
      throw write_error(path_, errno);
    }
  }
}

bool GrowingFile::is_in_place() const {
  struct stat status {};
  if (!is_plain_ || fstat(file_, &status) != 0) return true;
  if (status.st_nlink == 0) {
    throw OutputError(
        fmt::format("{}: was deleted or replaced while it was written: its lines are lost", path_),
        kExitFailed);
  }
  struct stat named {};
  return stat(path_.c_str(), &named) == 0 && named.st_dev == status.st_dev &&
         named.st_ino == status.st_ino;
}

std::optional<std::int64_t> GrowingFile::bytes() const {
  struct stat status {};
  if (!is_plain_ || fstat(file_, &status) != 0) return std::nullopt;
  return status.st_size;
}

std::string GrowingFile::read(std::int64_t first, std::int64_t count) const {
  std::string text(static_cast<std::size_t>(count), '\0');
  std::size_t got = 0;
  const int file = open(name_of_descriptor(file_).c_str(), O_RDONLY | O_CLOEXEC);
  while (file >= 0 && got < text.size()) {
    const ssize_t more = pread(file, text.data() + got, text.size() - got,
                               static_cast<off_t>(first + static_cast<std::int64_t>(got)));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  if (file >= 0) close(file);
  text.resize(got);
  return text;
}

void GrowingFile::cut(std::int64_t size) {
  if (ftruncate(file_, static_cast<off_t>(size)) != 0) throw write_error(path_, errno);
}

}  // namespace db
