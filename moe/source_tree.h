#pragma once

#include <filesystem>

namespace moe {

/// The directory that holds `experiments/` and the sources: the nearest one above this program's
/// executable, else the one it was built from. It need not exist any more.
std::filesystem::path source_tree();

}  // namespace moe
