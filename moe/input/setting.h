#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "moe/input/value.h"

namespace moe {

/// A key of a file and the value that a person gives it on the command line: "moe.experts=64".
struct Setting {
  std::vector<std::string> path;  ///< the tables on the way and the key: {"moe", "experts"}
  std::string value;              ///< as it was typed
};

/// "moe.experts", as messages and columns name the key.
std::string key_of(const Setting& setting);

/// Reads "KEY=VALUE". Throws InputError where a part of the key or the value is missing.
Setting parse_setting(std::string_view text);
/// Reads several. Throws InputError also where a key stands there twice.
std::vector<Setting> parse_settings(const std::vector<std::string>& texts);

/// The value as TOML reads it. What TOML does not read is a text, so that words need no quotes.
InputNode value_node(const Setting& setting);

/// Puts the value in its place in the table `root`, with the number `source`. Tables on the way are
/// made where there are none. The first `outside` parts of the key do not lead through the table.
/// Throws InputError where a key on the way is not a table.
void put(InputNode& root, const Setting& setting, int source, std::size_t outside = 0);

}  // namespace moe
