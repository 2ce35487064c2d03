#pragma once

#include <vector>

#include "moe/memory_file.h"
#include "moe/outcome.h"

namespace moe {

/// Brings the outcomes of ranks to the process that starts them by mpirun, so that a training ends
/// with one line, however its ranks ended. Ranks on other machines do not reach it.
class OutcomeChannel {
 public:
  /// Throws std::system_error where there can be no such file.
  OutcomeChannel();

  /// The outcomes that ranks have told so far, in the order in which they came.
  std::vector<Outcome> outcomes() const;

 private:
  MemoryFile file_;
};

/// Hands an outcome to the launcher of this rank. False where there is none, or it is out of reach.
bool hand_to_launcher(const Outcome& outcome);

}  // namespace moe
