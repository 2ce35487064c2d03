#pragma once

#include <cstdint>
#include <string_view>

namespace db {

/// "512", "256K", "1.5M", "2G", "1T": bytes or counts, the letters being powers of 1024. Throws
/// std::invalid_argument for anything else, and for what is no whole number below 2^63.
std::int64_t parse_size(std::string_view text);

}  // namespace db
