#include "db/console/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace db::version_test {
namespace {

TEST(Version, NamesProgramVersionAndRevision) {
  EXPECT_THAT(version_line("moe-db"), testing::MatchesRegex("moe-db [0-9.]+ \\([^)]+\\)"));
}

}  // namespace
}  // namespace db::version_test
