#include "moe/train/guarded_copy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "moe/train/mapped_file.h"

namespace moe::guarded_copy_test {
namespace {

class GuardedCopy : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << std::string(3 * page_, 'x'); }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("guarded_copy_test" + std::to_string(getpid()));
};

/// What is missing shows while it is read, whatever was looked at before.
TEST_F(GuardedCopy, SaysHowManyBytesCameBeforeAMissingPage) {
  const MappedFile file(path_);
  std::vector<std::byte> to(3 * page_);
  EXPECT_EQ(guarded_copy(file.bytes(), to), 3 * page_);
  EXPECT_EQ(to.back(), std::byte{'x'});
  std::filesystem::resize_file(path_, page_);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(guarded_copy(file.bytes(), to), page_);
    EXPECT_EQ(guarded_copy(file.bytes().subspan(2 * page_), std::span(to).first(page_)), 0u);
  }
}

/// The last page of a file reads as zeros behind its end.
TEST_F(GuardedCopy, OfAMappedFileEndsWhereTheFileEnds) {
  const MappedFile file(path_);
  std::vector<std::byte> to(page_);
  std::filesystem::resize_file(path_, page_ / 2);
  EXPECT_EQ(file.copy(0, to), page_ / 2);
  EXPECT_EQ(file.copy(page_, to), 0u);
  EXPECT_FALSE(file.is_whole());
}

TEST_F(GuardedCopy, LeavesOtherSignalsOfThatKindAlone) {
  const auto die = [&] {
    const MappedFile file(path_);
    std::vector<std::byte> to(page_);
    guarded_copy(file.bytes().first(page_), to);
    std::filesystem::resize_file(path_, 0);
    [[maybe_unused]] const volatile std::byte missing = file.bytes()[2 * page_];
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace moe::guarded_copy_test
