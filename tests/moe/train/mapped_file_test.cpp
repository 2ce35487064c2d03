#include "moe/train/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moe/errors.h"

namespace moe::mapped_file_test {
namespace {

TEST(MappedFile, RefusesAPipeInsteadOfWaitingForIt) {
  const std::string pipe = testing::TempDir() + "/mapped_file_test" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { MappedFile file(pipe); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("expected a regular file")));
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace moe::mapped_file_test
