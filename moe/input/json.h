#pragma once

#include <string>
#include <string_view>

#include "moe/input/value.h"

namespace moe {

/// Parses strict JSON. Throws InputError "NAME:LINE: ..." for a syntax error, a key that is given
/// twice, more than 64 levels or more than 8 million values.
InputDocument parse_json(std::string_view text, std::string name);

}  // namespace moe
