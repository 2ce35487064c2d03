#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace moe {

/// The largest size of a model, cluster, schedule or routing file; a larger one is a mistake.
inline constexpr std::int64_t kMostTextBytes = std::int64_t{64} << 20;

/// Reads all bytes of a plain file. Throws InputError with the file where it cannot be read, has
/// more than `most_bytes`, or is a folder, a pipe, a socket or a device, which it never waits for.
std::string read_file(const std::filesystem::path& path, std::int64_t most_bytes = kMostTextBytes);

}  // namespace moe
