#include "moe/train/checkpoint/folder_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "db/console/output_error.h"
#include "moe/train/checkpoint/folder.h"
#include "tests/db/temporary_directory.h"

namespace moe::folder_trial_test {
namespace {

using ::testing::ThrowsMessage;

TEST(FolderTrial, LeavesNothing) {
  const db::TemporaryDirectory directory;
  {
    const FolderTrial trial(directory.path());
    write_trial(trial.folder() / "rank-00000");
    EXPECT_TRUE(std::filesystem::is_empty(trial.folder()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(FolderTrial, OfAKilledTrainingIsRemovedByTheNextOne) {
  const db::TemporaryDirectory directory;
  {
    const FolderTrial trial(directory.path());
    const std::filesystem::path left = trial.folder();
    const auto lock = prepare_folder(directory.path(), 0);
    EXPECT_FALSE(std::filesystem::exists(left));
  }
}

TEST(FolderTrial, NamesTheFolderAndTheError) {
  const db::SmallDisk disk(64);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const std::string folder = std::filesystem::path(disk.file("x")).parent_path().string();
  std::optional<FolderTrial> trial(folder);
  db::write_file(disk.file("ballast"), std::string(1 << 20, 'x'));
  try {
    write_trial(trial->folder() / "rank-00000");
    ADD_FAILURE() << "a full disk was written to";
  } catch (const db::OutputError& error) {
    EXPECT_EQ(error.exit_code, 1);
    EXPECT_EQ(error.what(), folder + ": cannot be written: No space left on device");
  }
  trial.reset();
  ASSERT_TRUE(disk.make_read_only());
  EXPECT_THAT(
      [&] { FolderTrial refused(folder); },
      ThrowsMessage<db::OutputError>(folder + ": cannot be written: Read-only file system"));
}

}  // namespace
}  // namespace moe::folder_trial_test
