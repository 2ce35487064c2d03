#include "moe/input/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "moe/errors.h"

namespace moe::read_file_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class ReadFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path write(const std::string& text) {
    std::ofstream(directory_ / "x", std::ios::binary) << text;
    return directory_ / "x";
  }
  static void refuses(const std::filesystem::path& path, const std::string& what) {
    EXPECT_THAT([&] { read_file(path); },
                ThrowsMessage<InputError>(HasSubstr(path.string() + ": " + what)));
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-read-file-") + std::to_string(getpid()) +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ReadFile, GivesEveryByte) {
  const std::string bytes("a\0b\r\n\xFF", 6);
  EXPECT_EQ(read_file(write(bytes)), bytes);
  EXPECT_EQ(read_file(write("")), "");
}

TEST_F(ReadFile, RefusesMoreThanItsLimit) {
  EXPECT_EQ(read_file(write("12345"), 5), "12345");
  EXPECT_THAT([&] { read_file(write("123456"), 5); },
              ThrowsMessage<InputError>(HasSubstr("x: has 6 bytes: expected at most 5")));
}

TEST_F(ReadFile, RefusesALimitPassedByAFileThatSaysItIsEmpty) {
  EXPECT_THAT([] { read_file("/proc/self/status", 5); },
              ThrowsMessage<InputError>(HasSubstr("has more bytes: expected at most 5")));
}

TEST_F(ReadFile, NamesWhatIsNoFileInsteadOfWaitingForIt) {
  const auto pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refuses(pipe, "is a pipe");
  refuses(directory_, "is a folder");
  refuses("/dev/zero", "is a device");
  refuses(directory_ / "absent", "cannot be read: No such file");
  // A socket's path has 108 bytes at most, which a folder for tests can have used up.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/tmp/moelab-read-file-" + std::to_string(getpid());
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  refuses(path, "is a socket");
  close(listener);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace moe::read_file_test
