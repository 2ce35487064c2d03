#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace moe {

/// Parts of a text, one more than it has separators.
std::vector<std::string_view> split(std::string_view text, char separator);

/// One size, as db::parse_size. Throws Refusal naming the text.
std::int64_t parse_size(std::string_view text);

/// Ascending sizes of one or several comma-separated parts: "4M", "256K:64M:x2" (each twice the one
/// before, up to and including 64M where it is met), "1M:8M:+1M". Throws Refusal
/// naming the part.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace moe
