#include "moe/communicator/mpi/loopback.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

namespace moe::loopback_test {
namespace {

std::string device_of(int file) {
  std::array<char, 64> name{};
  socklen_t bytes = name.size();
  getsockopt(file, SOL_SOCKET, SO_BINDTODEVICE, name.data(), &bytes);
  return name.data();
}

TEST(Loopback, IsAllThatListenersAreBoundToAndOtherSocketsAreLeftAlone) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t bytes = sizeof address;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  listen_on_loopback_alone();
  if (device_of(listener).empty()) GTEST_SKIP() << "this kernel does not permit it";
  EXPECT_EQ(device_of(listener), "lo");
  EXPECT_EQ(device_of(other), "");
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(other, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(listener);
  close(other);
}

}  // namespace
}  // namespace moe::loopback_test
