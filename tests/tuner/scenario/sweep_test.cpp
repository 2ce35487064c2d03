#include "tuner/scenario/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"

namespace tuner::sweep_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Sweep, HasEveryCombinationAndTheLastKeyTurnsFastest) {
  EXPECT_THAT(combinations(parse_sweep({"moe.experts=8,16", "model.heads=2", "moe.choices=1,2"})),
              ElementsAre(ElementsAre("moe.experts=8", "model.heads=2", "moe.choices=1"),
                          ElementsAre("moe.experts=8", "model.heads=2", "moe.choices=2"),
                          ElementsAre("moe.experts=16", "model.heads=2", "moe.choices=1"),
                          ElementsAre("moe.experts=16", "model.heads=2", "moe.choices=2")));
}

TEST(Sweep, OfNoKeyHasOneCombinationThatSetsNothing) {
  EXPECT_THAT(combinations(parse_sweep({})), ElementsAre(IsEmpty()));
}

TEST(Sweep, RefusesMissingValuesKeysThatComeTwiceAndTooManyCombinations) {
  EXPECT_THROW(parse_sweep({"moe.experts=8,,16"}), moe::InputError);
  EXPECT_THROW(parse_sweep({"moe.experts=8,"}), moe::InputError);
  EXPECT_THROW(parse_sweep({"moe.experts=8", "moe.experts=16"}), moe::InputError);
  std::string many = "1";
  for (int i = 2; i <= 1001; ++i) many += "," + std::to_string(i);
  EXPECT_THROW(combinations(parse_sweep({"a.b=" + many, "a.c=" + many})), moe::InputError);
}

}  // namespace
}  // namespace tuner::sweep_test
