#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

/// Texts that a person typed or that a file holds, in messages and tables.
namespace db {

/// `text` without characters that a terminal acts on. Control characters and bytes that are not
/// UTF-8 are written as "\n", "\t" or "\x1b". Lines stay lines where `keep_lines` is set.
std::string escaped(std::string_view text, bool keep_lines = false);

/// `text` escaped, at most `most` characters of it, and "..." where it was cut.
std::string shortened(std::string_view text, std::size_t most = 40);

/// "1 row", "2 rows". `several`: where it is not `one` and "s".
std::string counted(std::int64_t count, std::string_view one, std::string_view several = {});

inline constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();
/// "an integer from 1 to 8", "an integer of at least 1".
std::string integer_range(std::int64_t least, std::int64_t most);

}  // namespace db
