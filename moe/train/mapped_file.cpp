#include "moe/train/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "moe/errors.h"
#include "moe/train/guarded_copy.h"

namespace moe {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw InputError(fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Does not wait for the other end of a pipe.
  Descriptor file{open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat status {};
  if (file.number < 0 || fstat(file.number, &status) != 0) fail(path, errno);
  if (S_ISDIR(status.st_mode)) {
    throw InputError(fmt::format("{}: is a folder: expected files, as in --data {}", path.string(),
                                 (path / "*.txt").string()));
  }
  if (!S_ISREG(status.st_mode)) {
    throw InputError(fmt::format("{}: expected a regular file", path.string()));
  }
  if (status.st_size == 0) return;  // an empty range cannot be mapped
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (memory == MAP_FAILED) fail(path, errno);
  bytes_ = {static_cast<const std::byte*>(memory), size};
  file_ = std::exchange(file.number, -1);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (file_ >= 0) close(file_);
}

std::size_t MappedFile::copy(std::size_t first, std::span<std::byte> to) const {
  const std::size_t copied = guarded_copy(bytes_.subspan(first, to.size()), to);
  // The last page that a file still has reads as zeros past its end.
  const auto now = static_cast<std::size_t>(size_now());
  return std::min(copied, now > first ? now - first : 0);
}

void MappedFile::read_ahead(std::size_t first, std::size_t count) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = first / page * page;
  if (bytes_.empty() || first + count > bytes_.size()) return;
  // A system that will not read ahead reads when the bytes are copied.
  madvise(const_cast<std::byte*>(bytes_.data()) + begin, first + count - begin, MADV_WILLNEED);
}

void MappedFile::forget(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto first = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t begin = first / page * page;
  // A system that keeps them has the memory.
  madvise(const_cast<std::byte*>(bytes_.data()) + begin, first + part.size() - begin,
          MADV_DONTNEED);
}

std::int64_t MappedFile::size_now() const {
  struct stat status {};
  return file_ >= 0 && fstat(file_, &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

}  // namespace moe
