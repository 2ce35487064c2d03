#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace db {

/// "512", "256K", "1.5M", "2G", "1T": bytes or counts; the letters are powers of 1024. None for any
/// other text, and for a number that is not whole or not below 2^63.
std::optional<std::int64_t> parse_size(std::string_view text);

}  // namespace db
