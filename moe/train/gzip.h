#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace moe {

/// What is unpacked is held in memory, by every process: no more than this of a file.
inline constexpr std::int64_t kMostUnpackedBytes = std::int64_t{1} << 30;

/// The content of a gzip file, of one member or of several. Throws InputError with the file where
/// it is cut short or damaged, and where it has more than kMostUnpackedBytes.
std::vector<std::byte> unpacked(const std::filesystem::path& path,
                                std::span<const std::byte> packed);

}  // namespace moe
