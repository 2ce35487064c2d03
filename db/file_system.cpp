#include "db/file_system.h"

#include <sys/vfs.h>

#include "db/inspect.h"

namespace db {
namespace {

struct NetworkFileSystem {
  std::uint32_t type;
  const char* name;
};
/// linux/magic.h, and the sources of those that are not in the kernel.
constexpr NetworkFileSystem kNetworkFileSystems[] = {
    {0x6969, "NFS"},        {0x517B, "SMB"},       {0xFE534D42, "SMB"},   {0xFF534D42, "CIFS"},
    {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},  {0x65735546, "FUSE"},  {0x01021997, "9p"},
    {0x5346414F, "AFS"},    {0x6B414653, "AFS"},   {0x00C36400, "Ceph"},  {0x73757245, "Coda"},
    {0x564C, "NCP"},        {0x01161970, "GFS2"},  {0x7461636F, "OCFS2"}, {0x20030528, "OrangeFS"},
    {0x19830326, "BeeGFS"}, {0xAAD7AAEA, "PanFS"}, {0x786F4256, "vboxsf"}};

}  // namespace

std::optional<std::string> network_file_system_of_type(std::uint32_t type) {
  for (const NetworkFileSystem& one : kNetworkFileSystems) {
    if (one.type == type) return one.name;
  }
  return std::nullopt;
}

std::optional<std::string> network_file_system(const std::string& path) {
  struct statfs status {};
  if (statfs(path.c_str(), &status) != 0 && statfs(parent_of(path).c_str(), &status) != 0) {
    return std::nullopt;
  }
  return network_file_system_of_type(static_cast<std::uint32_t>(status.f_type));
}

}  // namespace db
