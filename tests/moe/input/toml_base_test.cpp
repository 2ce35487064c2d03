#include "moe/input/toml_base.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "moe/errors.h"

namespace moe::toml_base_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TomlBase : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  FindBase beside() const {
    return [](const std::string& base, const std::filesystem::path& file) {
      if (base == "lost") throw InputError("no such file as lost");
      return file.parent_path() / base;
    };
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-toml-base-") +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(TomlBase, TakesTablesKeyByKeyAndListsWhole) {
  write("below", "top = 1\n[a]\nx = 1\ny = 2\n[a.deep]\nu = 1\nv = 2\n[b]\nlist = [1, 2, 3]\n");
  const InputDocument document = read_toml_on_base(
      write("above", "base = \"below\"\n[a]\nx = 5\n[a.deep]\nv = 6\n[b]\nlist = [9]\n"), beside());
  const InputObject root = document.object(), a = root.object("a"), deep = a.object("deep");
  EXPECT_EQ(root.integer("top", 0), 1);
  EXPECT_EQ(a.integer("x", 0), 5);
  EXPECT_EQ(a.integer("y", 0), 2);
  EXPECT_EQ(deep.integer("u", 0), 1);
  EXPECT_EQ(deep.integer("v", 0), 6);
  EXPECT_THAT(root.object("b").member("list").integers(0), ElementsAre(9));
}

TEST_F(TomlBase, SaysOfEveryValueWhereItStands) {
  write("below", "[a]\nx = 1\n\ny = -2\n");
  const auto path = write("above", "base = \"below\"\n[a]\nx = -5\n");
  const InputDocument document = read_toml_on_base(path, beside());
  const auto error = [&](const char* key) {
    try {
      document.object().object("a").integer(key, 0);
    } catch (const InputError& failed) {
      return std::string(failed.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error("x"), HasSubstr("above:3: a.x: expected an integer of at least 0, got -5"));
  EXPECT_THAT(error("y"), HasSubstr("below:4: a.y: expected an integer of at least 0, got -2"));
  EXPECT_THAT(error("z"), HasSubstr("above:2: a.z: missing"));
}

TEST_F(TomlBase, TakesATableInPlaceOfAValueAndTheOtherWayRound) {
  write("below", "a = 1\n[b]\nx = 1\n");
  const InputDocument document =
      read_toml_on_base(write("above", "base = \"below\"\nb = 2\n[a]\nx = 3\n"), beside());
  EXPECT_EQ(document.object().integer("b", 0), 2);
  EXPECT_EQ(document.object().object("a").integer("x", 0), 3);
}

TEST_F(TomlBase, NamesTheLineOfABaseThatIsNotFound) {
  try {
    read_toml_on_base(write("above", "\n\nbase = \"lost\"\n"), beside());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("above:3: base: no such file as lost"));
  }
}

TEST_F(TomlBase, NamesTheFileOfASyntaxErrorInABase) {
  write("below", "x = = 1\n");
  try {
    read_toml_on_base(write("above", "base = \"below\"\n"), beside());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("below:1: "));
  }
}

}  // namespace
}  // namespace moe::toml_base_test
