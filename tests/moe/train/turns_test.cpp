#include "moe/train/turns.h"

#include <gtest/gtest.h>

#include <string>

namespace moe::turns_test {
namespace {

TEST(Turns, GoRoundTheSchedulesAnIterationEach) {
  std::string order;
  for (int iteration = 1; iteration <= 7; ++iteration) {
    const Turn turn = turn_of(iteration, 3);
    order += std::to_string(turn.schedule) + ":" + std::to_string(turn.iteration) + " ";
  }
  EXPECT_EQ(order, "0:1 1:1 2:1 0:2 1:2 2:2 0:3 ");
}

TEST(Turns, PutTheNextScheduleInForceAfterEachIteration) {
  const Replan replan = in_turns({{"a", {}}, {"b", {}}});
  std::string order = "a";
  for (int iteration = 1; iteration <= 4; ++iteration) {
    order += replan({iteration, 0, {}})->planner;
    EXPECT_EQ(turn_of(iteration + 1, 2).schedule, order.back() == 'a' ? 0u : 1u);
  }
  EXPECT_EQ(order, "ababa");
}

}  // namespace
}  // namespace moe::turns_test
