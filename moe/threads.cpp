#include "moe/threads.h"

#include <fmt/format.h>

#include <stdexcept>

namespace moe {

void throw_no_thread(std::string_view purpose, const std::error_code& code) {
  throw std::runtime_error(
      fmt::format("no thread can be started for {}: {}: raise the limit of processes and threads "
                  "(ulimit -u, pids.max of a container) or of memory (ulimit -v)",
                  purpose, code.message()));
}

}  // namespace moe
