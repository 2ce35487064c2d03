#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace microbench {

/// "512", "256K", "1.5M", "2G": bytes or counts, K, M and G being powers of 1024. Throws
/// std::invalid_argument saying what was expected.
std::int64_t parse_size(std::string_view text);

/// Ascending sizes of one or several comma-separated parts: "4M", "256K:64M:x2" (each twice the one
/// before, up to and including 64M where it is met), "1M:8M:+1M". Throws std::invalid_argument
/// naming the part.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace microbench
