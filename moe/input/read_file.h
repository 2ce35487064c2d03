#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace moe {

/// Models, clusters, schedules and routings are larger than this by mistake only.
inline constexpr std::int64_t kMostTextBytes = std::int64_t{64} << 20;

/// All bytes of a plain file. Throws InputError naming the file where it cannot be read, has more
/// than `most_bytes`, or is a folder, a pipe, a socket or a device: those are never waited for.
std::string read_file(const std::filesystem::path& path, std::int64_t most_bytes = kMostTextBytes);

}  // namespace moe
