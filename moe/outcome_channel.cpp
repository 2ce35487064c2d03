#include "moe/outcome_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace moe {
namespace {

/// Open MPI hands variables that begin so on to the ranks of other hosts.
constexpr const char* kVariable = "OMPI_MOELAB_OUTCOMES";

}  // namespace

OutcomeChannel::OutcomeChannel() : file_(memfd_create("outcomes", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  setenv(kVariable, fmt::format("/proc/{}/fd/{}", getpid(), file_).c_str(), 1);
}

OutcomeChannel::~OutcomeChannel() {
  unsetenv(kVariable);
  close(file_);
}

std::vector<Outcome> OutcomeChannel::outcomes() const {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count =
        pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::vector<Outcome> outcomes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (auto outcome = find_outcome(std::string_view(text).substr(at, end - at))) {
      outcomes.push_back(std::move(*outcome));
    }
    at = end + 1;
  }
  return outcomes;
}

bool hand_to_launcher(const Outcome& outcome) {
  const char* path = std::getenv(kVariable);
  if (path == nullptr) return false;
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return false;
  const std::string line = to_json(outcome) + '\n';
  const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(file);
  return written;
}

}  // namespace moe
