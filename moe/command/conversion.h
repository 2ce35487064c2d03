#pragma once

#include <string_view>

namespace moe {

/// True where the first word of a command line asks for a conversion: "export" or "import".
bool is_conversion(std::string_view word);

/// The main() of `moe-train export` and `moe-train import`: checkpoints to and from the folders
/// that the library transformers reads and writes. Returns the exit code.
int run_conversion(int argc, char** argv);

}  // namespace moe
