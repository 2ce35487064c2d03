#pragma once

#include <string>
#include <string_view>

namespace moe {

/// What one process has read for all ranks of a job, on its way to them: the process that starts
/// ranks hands it to rank 0 on stdin, and rank 0 broadcasts it. No rank needs a path of that process.
struct HandedInputs {
  std::string reader;  ///< who has read it, for messages: "rank 0 (n0)"
  std::string build;   ///< the reader's
  std::string text;
};

std::string to_text(const HandedInputs& inputs);
/// Throws InputError where `text` is cut short, or nothing of the kind.
HandedInputs handed_inputs(std::string_view text);

}  // namespace moe
