#include "moe/communicator/announced_work.h"

#include <gtest/gtest.h>

#include <optional>

namespace moe::announced_work_test {
namespace {

TEST(AnnouncedWork, LastsAsLongAsItsObject) {
  EXPECT_FALSE(announced_work());
  {
    const AnnouncedWork plans("plans");
    EXPECT_EQ(announced_work()->what, "plans");
    EXPECT_TRUE(ranks_wait_for_work());
  }
  EXPECT_FALSE(announced_work());
  EXPECT_FALSE(ranks_wait_for_work());
}

TEST(AnnouncedWork, ForRanksComesBeforeThatForTheLauncherAlone) {
  const AnnouncedWork computes("computes", AwaitedBy::launcher);
  EXPECT_EQ(announced_work()->what, "computes");
  EXPECT_FALSE(ranks_wait_for_work());
  std::optional<AnnouncedWork> first(std::in_place, "stores"), second(std::in_place, "plans");
  EXPECT_EQ(announced_work()->what, "stores");
  first.reset();
  EXPECT_EQ(announced_work()->what, "plans");
  second.reset();
  EXPECT_EQ(announced_work()->what, "computes");
}

}  // namespace
}  // namespace moe::announced_work_test
