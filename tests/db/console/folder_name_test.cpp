#include "db/console/folder_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace db::options::folder_name_test {
namespace {

TEST(FolderName, IsNoHyphenAndNotEmpty) {
  const auto refusal = [](std::string text) { return folder_name()(text); };
  EXPECT_EQ(refusal("run"), "");
  EXPECT_EQ(refusal("./-"), "");
  EXPECT_THAT(refusal("-"), testing::HasSubstr("a folder cannot be on stdout"));
  EXPECT_THAT(refusal(""), testing::HasSubstr("expected a text on one line"));
}

}  // namespace
}  // namespace db::options::folder_name_test
