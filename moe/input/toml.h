#pragma once

#include <string>
#include <string_view>

#include "moe/input/value.h"

namespace moe {

/// Parses TOML. Throws InputError "NAME:LINE: ..." for a syntax error, more than a MiB, keys of
/// more than 16 parts, more than 32 nested brackets, dates and times.
InputDocument parse_toml(std::string_view text, std::string name);
/// Parses TOML into nodes, before they become a document.
InputNode parse_toml_node(std::string_view text, const std::string& name);

}  // namespace moe
