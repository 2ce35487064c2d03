#include "moe/communicator/mpi/loopback.h"

#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace moe {
namespace {

int socket_option(int file, int option) {
  int value = 0;
  socklen_t bytes = sizeof value;
  return getsockopt(file, SOL_SOCKET, option, &value, &bytes) == 0 ? value : 0;
}

}  // namespace

void listen_on_loopback_alone() {
  std::vector<int> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename();
    int file = -1;
    std::from_chars(name.data(), name.data() + name.size(), file);
    files.push_back(file);
  }
  constexpr char loopback[] = "lo";
  for (const int file : files) {
    const int family = socket_option(file, SO_DOMAIN);
    if (family != AF_INET && family != AF_INET6) continue;
    if (socket_option(file, SO_ACCEPTCONN) == 0) continue;
    setsockopt(file, SOL_SOCKET, SO_BINDTODEVICE, loopback, sizeof loopback);
  }
}

}  // namespace moe
