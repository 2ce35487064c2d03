#include "moe/communicator/awake.h"

#include <gtest/gtest.h>

#include <optional>

namespace moe::awake_test {
namespace {

TEST(WaitsAwake, LastsAsLongAsAnyOfThem) {
  EXPECT_FALSE(waits_awake());
  std::optional<WaitsAwake> first(std::in_place);
  {
    const WaitsAwake second;
    first.reset();
    EXPECT_TRUE(waits_awake());
  }
  EXPECT_FALSE(waits_awake());
}

TEST(WaitsAwake, SleepsWhereOthersWantItsCore) {
  const WaitsAwake awake;
  EXPECT_TRUE(waits_awake());
  core_is_wanted();
  EXPECT_FALSE(waits_awake());
}

TEST(WaitsAwake, ForgetsWithTheLastOfThemThatACoreWasWanted) {
  {
    const WaitsAwake before;
    core_is_wanted();
  }
  const WaitsAwake awake;
  EXPECT_TRUE(waits_awake());
}

}  // namespace
}  // namespace moe::awake_test
