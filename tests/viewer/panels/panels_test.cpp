#include "viewer/panels/panels.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace viewer::panels_test {
namespace {

TEST(Panels, HaveNamesOfTheirOwnByWhichTheyAreFound) {
  std::set<std::string> names;
  for (const Panel& panel : all_panels()) {
    EXPECT_TRUE(names.insert(panel.name).second) << panel.name;
    EXPECT_EQ(find_panel(panel.name), &panel);
    EXPECT_STRNE(panel.title, "");
    EXPECT_NE(panel.draw, nullptr);
  }
  EXPECT_EQ(find_panel("nonsense"), nullptr);
}

}  // namespace
}  // namespace viewer::panels_test
