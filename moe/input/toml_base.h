#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "moe/input/value.h"

namespace moe {

/// The file that a file calls `base`. Throws InputError saying what there is instead.
using FindBase = std::function<std::filesystem::path(const std::string& base,
                                                     const std::filesystem::path& file)>;

/// Reads a TOML file that may build on another: where it has a key `base`, every key that it does not have
/// itself is that file's, table by table, but for `name` and `base`; and so on. Messages about a value name the
/// file and line that it stands in. Throws InputError as parse_toml does, for a base that is not found, and with
/// the way round for one that leads back.
InputDocument read_toml_on_base(const std::filesystem::path& path, const FindBase& find);

}  // namespace moe
