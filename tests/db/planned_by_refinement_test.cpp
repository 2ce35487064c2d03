#include "db/planned_by_refinement.h"

#include <gtest/gtest.h>

namespace db {
namespace {

bool with_parameters(const char* json) {
  Trial trial;
  trial.parameters_json = json;
  return is_planned_by_refinement(trial);
}

TEST(PlannedByRefinement, IsWhatItsParametersSay) {
  EXPECT_TRUE(with_parameters(R"({"forward_chunks": 2, "refinement": 1})"));
  EXPECT_FALSE(with_parameters(R"({"forward_chunks": 2})"));
  EXPECT_FALSE(with_parameters(R"({"by": "refinement"})"));
  EXPECT_FALSE(with_parameters("{}"));
  EXPECT_FALSE(with_parameters(""));
}

}  // namespace
}  // namespace db
