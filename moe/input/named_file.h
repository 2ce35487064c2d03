#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "moe/input/toml_base.h"

namespace moe {

/// The name of a file in `directory` without its ".toml", or a file as it stands; a folder too,
/// where it has a file `of_folder`. A relative directory is one of source_tree(). Throws InputError
/// listing the names there are.
std::filesystem::path named_file(const std::string& name_or_path,
                                 const std::filesystem::path& directory,
                                 std::string_view of_folder = {});

/// Finds what a file calls its base: a name means a file beside it, or one in `directory`. Throws as
/// named_file().
FindBase bases_in(const std::filesystem::path& directory);

}  // namespace moe
