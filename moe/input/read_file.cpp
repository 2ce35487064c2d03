#include "moe/input/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "moe/errors.h"

namespace moe {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_plain_file(const std::string& name, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) {
    throw InputError(fmt::format("{}: is {}: expected a file", name, kind_of(status.st_mode)));
  }
}

class OpenedInput {
 public:
  explicit OpenedInput(const std::string& name)
      : descriptor_(open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenedInput() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenedInput(const OpenedInput&) = delete;
  OpenedInput& operator=(const OpenedInput&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

std::string read_file(const std::filesystem::path& path, std::int64_t most_bytes) {
  const std::string name = path.string();
  const auto unreadable = [&] {
    return InputError(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
  };
  const auto too_large = [&](const std::string& size) {
    return InputError(fmt::format("{}: has {} bytes: expected at most {}", name, size, most_bytes));
  };
  struct stat status {};
  if (stat(name.c_str(), &status) != 0) throw unreadable();
  require_plain_file(name, status);  // before it is opened: opening a device may do something
  const OpenedInput file(name);
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw unreadable();
  require_plain_file(name, status);
  if (status.st_size > most_bytes) throw too_large(fmt::to_string(status.st_size));

  std::string text;
  text.reserve(static_cast<std::size_t>(status.st_size));
  std::array<char, 1 << 16> piece;
  while (true) {
    const ssize_t bytes = read(file.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) throw unreadable();
    if (bytes == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(bytes));
    // Files that say they are empty, such as those of /proc, may go on for ever.
    if (static_cast<std::int64_t>(text.size()) > most_bytes) throw too_large("more");
  }
}

}  // namespace moe
