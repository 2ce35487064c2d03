#include "viewer/panels/panel_states.h"

#include <gtest/gtest.h>

#include <string>

namespace viewer::panel_states_test {
namespace {

TEST(PanelStates, KeepOneValueOfEachType) {
  PanelStates states;
  EXPECT_EQ(states.of<int>(), 0);
  states.of<int>() = 7;
  states.of<std::string>() = "words";
  EXPECT_EQ(states.of<int>(), 7);
  EXPECT_EQ(states.of<std::string>(), "words");
}

}  // namespace
}  // namespace viewer::panel_states_test
