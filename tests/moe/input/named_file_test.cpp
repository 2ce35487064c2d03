#include "moe/input/named_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "moe/errors.h"

namespace moe::named_file_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NamedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(shipped_);
    std::filesystem::create_directories(own_ / "folder");
    for (const auto& file : {shipped_ / "a.toml", own_ / "b.toml", own_ / "folder" / "part"}) {
      std::ofstream(file) << "x = 1\n";
    }
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  std::string refusal(const std::string& name, std::string_view of_folder = {}) const {
    try {
      named_file(name, shipped_, of_folder);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }

  const std::filesystem::path top_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("named-file-") +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::filesystem::path shipped_ = top_ / "shipped", own_ = top_ / "own";
};

TEST_F(NamedFile, IsOneOfTheDirectoryOrAsItStands) {
  EXPECT_EQ(named_file("a", shipped_), shipped_ / "a.toml");
  EXPECT_EQ(named_file((own_ / "b.toml").string(), shipped_), own_ / "b.toml");
  EXPECT_THAT(refusal("b"), AllOf(HasSubstr("b: no such file"), HasSubstr("has only a"),
                                  Not(HasSubstr("folder with one"))));
}

TEST_F(NamedFile, MayBeAFolderThatHasAFile) {
  const std::string folder = (own_ / "folder").string();
  EXPECT_EQ(named_file(folder, shipped_, "part"), own_ / "folder");
  EXPECT_THAT(refusal(folder, "other"), HasSubstr("a other, or a folder with one, will do"));
  EXPECT_THAT(refusal(folder), HasSubstr("no such file"));
}

TEST_F(NamedFile, OfABaseIsBesideTheFileOrInTheDirectory) {
  const FindBase find = bases_in(shipped_);
  const std::filesystem::path file = own_ / "c.toml";
  EXPECT_EQ(find("b", file), own_ / "b.toml");
  EXPECT_EQ(find("a", file), shipped_ / "a.toml");
  EXPECT_EQ(find("../shipped/a.toml", file), own_ / "../shipped/a.toml");
  EXPECT_THROW(find("d", file), InputError);
}

}  // namespace
}  // namespace moe::named_file_test
