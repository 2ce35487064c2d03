#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "moe/input/value.h"

namespace moe {

/// Finds the file that a file calls `base`. Throws InputError with the names that exist.
using FindBase = std::function<std::filesystem::path(const std::string& base,
                                                     const std::filesystem::path& file)>;

/// Reads a TOML file that may build on another one. Where it has a key `base`, the keys that it
/// does not have are taken from that file, table by table, except `name` and `base`; that file may
/// have a base too. Messages about a value name its file and line. Throws InputError as parse_toml
/// does, where a base is not found, and, with the chain of files, where bases form a circle.
///
/// `settings`, texts such as "moe.experts=64", stand above all files. Messages about their values
/// begin with "--set" and the text. The first `outside` parts of their keys do not lead through the
/// file, as in "cluster.nodes=4". Throws as parse_settings does.
InputDocument read_toml_on_base(const std::filesystem::path& path, const FindBase& find,
                                const std::vector<std::string>& settings = {},
                                std::size_t outside = 0);

/// `settings` above nodes that were made of `name`, as read_toml_on_base has them above files.
InputDocument toml_below_settings(InputNode root, const std::string& name,
                                  const std::vector<std::string>& settings);

}  // namespace moe
