#include "moe/memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace moe {

MemoryFile::MemoryFile(const char* name, const char* variable)
    : variable_(variable), file_(memfd_create(name, MFD_CLOEXEC)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  setenv(variable, fmt::format("/proc/{}/fd/{}", getpid(), file_).c_str(), 1);
}

MemoryFile::~MemoryFile() {
  unsetenv(variable_);
  close(file_);
}

std::string MemoryFile::text() const {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count =
        pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

int open_memory_file(const char* name, const char* variable, int flags) {
  const char* path = std::getenv(variable);
  if (path == nullptr) return -1;
  const int file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
  if (file < 0) return -1;
  std::error_code ignored;
  const auto target =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), ignored).string();
  if (target == fmt::format("/memfd:{} (deleted)", name)) return file;
  close(file);
  return -1;
}

}  // namespace moe
