#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace db {

/// The network file system that a file, or the folder that it is to be made in, lies on: "NFS". None
/// for one of this computer, and where that cannot be told. FUSE counts as one, since most of what
/// it is used for is (sshfs, BeeGFS, Gluster).
std::optional<std::string> network_file_system(const std::string& path);

/// The same by its number in statfs(2).
std::optional<std::string> network_file_system_of_type(std::uint32_t type);

}  // namespace db
