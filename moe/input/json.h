#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "moe/input/value.h"

namespace moe {

enum class JsonNumbers : std::uint8_t {
  strict,
  python,  ///< also NaN, Infinity and -Infinity, which Python's json writes
};

/// Parses strict JSON. `first_line`: the number of its first line in the file. Throws InputError
/// "NAME:LINE: ..." for a syntax error, a key that is given twice, more than 64 levels or more than
/// 8 million values.
InputDocument parse_json(std::string_view text, std::string name,
                         JsonNumbers numbers = JsonNumbers::strict, int first_line = 1);

}  // namespace moe
