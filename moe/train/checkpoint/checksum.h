#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace moe {

/// A hash of 64 bits. It changes with every change within 8 bytes, and with nearly all others. (a
/// chain of SplitMix64)
std::uint64_t checksum(std::span<const std::byte> bytes);

/// "00f3c2d1a0b9e847"
std::string checksum_text(std::uint64_t checksum);
/// That of the bytes of a text.
std::string checksum_of_text(std::string_view text);

}  // namespace moe
