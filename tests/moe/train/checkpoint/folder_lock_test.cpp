#include "moe/train/checkpoint/folder_lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/train/checkpoint/folder.h"
#include "tests/db/temporary_directory.h"

namespace moe::folder_lock_test {
namespace {

TEST(FolderLock, IsOfOneTrainingAtATime) {
  const db::TemporaryDirectory folder;
  std::optional<FolderLock> first(folder.path());
  EXPECT_THAT([&] { FolderLock(folder.path(), 0); },
              testing::ThrowsMessage<InputError>(
                  testing::HasSubstr(fmt::format("process {} on ", getpid()))));
  first.reset();
  EXPECT_NO_THROW(FolderLock(folder.path(), 0));
  const auto prepared = prepare_folder(folder.path(), 0);
  EXPECT_THROW(FolderLock(folder.path(), 0), InputError);
}

TEST(FolderLock, FollowsNoLinkAndWritesToNobodysFile) {
  const db::TemporaryDirectory folder;
  const std::filesystem::path root = folder.path(), precious = root / "precious",
                              lock = root / ".lock";
  const auto refusal = [&] {
    std::string text;
    try {
      FolderLock(folder.path(), 0);
    } catch (const InputError& error) {
      text = error.what();
    }
    std::filesystem::remove(lock);
    return text;
  };
  std::ofstream(precious) << "precious";
  std::filesystem::create_symlink(precious, lock);
  EXPECT_THAT(refusal(), testing::HasSubstr(".lock: is a link"));
  std::filesystem::create_symlink(root / "nothing", lock);
  EXPECT_THAT(refusal(), testing::HasSubstr(".lock: is a link"));
  std::filesystem::create_hard_link(precious, lock);
  EXPECT_THAT(refusal(), testing::HasSubstr(".lock: has another name, too"));
  std::filesystem::copy(precious, lock);
  EXPECT_THAT(refusal(), testing::HasSubstr(".lock: has other contents"));
  ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), testing::HasSubstr(".lock: is no plain file"));
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(read_file(precious), "precious");
  EXPECT_FALSE(std::filesystem::exists(root / "nothing"));
}

TEST(FolderLock, EndsWithItsProcessHoweverThatEnds) {
  const db::TemporaryDirectory folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder.path(), 0);
    if (::write(ready[1], "x", 1) == 1) ::pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THROW(FolderLock(folder.path(), 0), InputError);
  ::kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(FolderLock(folder.path(), 0));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FolderLock, RefusesACheckpointThatWasWrittenMeanwhile) {
  const db::TemporaryDirectory folder;
  std::filesystem::create_directory(checkpoint_folder(folder.path(), 20));
  EXPECT_NO_THROW((void)prepare_folder(folder.path(), 20));
  EXPECT_THAT([&] { (void)prepare_folder(folder.path(), 10); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("iteration 20 meanwhile")));
}

}  // namespace
}  // namespace moe::folder_lock_test
