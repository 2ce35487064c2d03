#include "moe/outcome_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace moe {
namespace {

/// Open MPI hands variables that begin so on to the ranks of other hosts.
constexpr const char* kVariable = "OMPI_MOELAB_OUTCOMES";
constexpr const char* kFileName = "moelab-outcomes";

}  // namespace

OutcomeChannel::OutcomeChannel() : file_(kFileName, kVariable) {}

std::vector<Outcome> OutcomeChannel::outcomes() const {
  const std::string text = file_.text();
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
  const int file = open_memory_file(kFileName, kVariable, O_APPEND);
  if (file < 0) return false;
  const std::string line = to_json(outcome) + '\n';
  const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(file);
  return written;
}

}  // namespace moe
