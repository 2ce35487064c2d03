#include "moe/memory_text.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace moe {

MemoryText::MemoryText(std::string_view text) : file_(memfd_create("stdin", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  while (!text.empty()) {
    const ssize_t count = write(file_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(file_);
      throw std::system_error(error, std::generic_category(), "a file in memory");
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  lseek(file_, 0, SEEK_SET);
}

MemoryText::~MemoryText() { close(file_); }

}  // namespace moe
