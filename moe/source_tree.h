#pragma once

#include <filesystem>

namespace moe {

/// The folder of this program's executable.
std::filesystem::path program_folder();

/// The directory that holds `experiments/` and the text to train on: the nearest one above this
/// program's executable that is a checkout or has an installed share/moelab, else the checkout it
/// was built from. It need not exist any more.
std::filesystem::path source_tree();

}  // namespace moe
