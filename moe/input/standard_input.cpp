#include "moe/input/standard_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "moe/errors.h"
#include "moe/input/read_file.h"

namespace moe {
namespace {

/// Waits until there is something to read, or the end.
void await_input(double time_limit_s) {
  constexpr double kMost_ms = 1e9;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = poll(&input, 1, static_cast<int>(std::min(time_limit_s * 1000, kMost_ms)));
  if (ready == 0) {
    throw TimeLimit(fmt::format("waited {} s for stdin, which has not ended", time_limit_s));
  }
}

}  // namespace

std::string read_standard_input(std::optional<double> time_limit_s) {
  std::string text;
  std::array<char, 1 << 16> piece;
  while (true) {
    if (time_limit_s) await_input(*time_limit_s);
    const ssize_t bytes = read(STDIN_FILENO, piece.data(), piece.size());
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes < 0) {
      throw InputError(fmt::format("stdin: cannot be read: {}", std::strerror(errno)));
    }
    if (bytes == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(bytes));
    if (static_cast<std::int64_t>(text.size()) > kMostTextBytes) {
      throw InputError(fmt::format("stdin: has more than {} bytes", kMostTextBytes));
    }
  }
}

void leave_standard_input() {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDIN_FILENO);
  close(null);
}

}  // namespace moe
