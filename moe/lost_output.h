#pragma once

#include <stdexcept>

namespace moe {

/// Thrown where a program ends in order because an output of it (a log, a database, stdout) can no
/// longer be written; all ranks throw it together. The message names the output and the reason.
struct LostOutput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace moe
