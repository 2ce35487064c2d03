#include "moe/train/checkpoint/written_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "db/console/output_target.h"

namespace moe {
namespace {

constexpr mode_t kReadableByAll = 0644;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // write() takes 2 GiB at most

}  // namespace

WrittenFile::WrittenFile(std::filesystem::path path)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadableByAll)) {
  if (file_ < 0) fail("", errno);
}

WrittenFile::~WrittenFile() {
  if (file_ >= 0) ::close(file_);
}

void WrittenFile::fail(std::string_view part, int error) const {
  throw std::runtime_error(fmt::format("{}: {}{}{}", path_.string(), part, part.empty() ? "" : ": ",
                                       std::generic_category().message(error)));
}

void WrittenFile::write(std::span<const std::byte> bytes, std::string_view part) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(part, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void WrittenFile::write_again(std::size_t first, std::span<const std::byte> bytes,
                              std::string_view part) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), std::min(bytes.size(), kMostAtOnce),
                                     static_cast<off_t>(first));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(part, errno);
    first += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void WrittenFile::close() {
  if (fsync(file_) != 0) fail("waiting for the disk", errno);
  if (::close(std::exchange(file_, -1)) != 0) fail("closing", errno);
}

void write_text(const std::filesystem::path& path, std::string_view text, std::string_view part) {
  WrittenFile file(path);
  file.write(std::as_bytes(std::span(text)), part);
  file.close();
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw db::open_error(folder.string(), failed.value());
}

void sync_folder(const std::filesystem::path& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = file >= 0 && (fsync(file) == 0 || errno == EINVAL);  // where it has no such
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!synced) {
    throw std::runtime_error(
        fmt::format("{}: {}", folder.string(), std::generic_category().message(error)));
  }
}

}  // namespace moe
