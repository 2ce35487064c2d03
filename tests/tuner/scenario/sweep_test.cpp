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

TEST(Sweep, ACommaWithinQuotesOrBracketsIsPartOfAValue) {
  EXPECT_THAT(combinations(parse_sweep({"name=\"a,b\",'c,d',e", "x.y=[1,2],{z=3,w=4}"})),
              testing::SizeIs(6));
  EXPECT_THAT(combinations(parse_sweep({"name=\"a,b\""})),
              ElementsAre(ElementsAre("name=\"a,b\"")));
}

TEST(Sweep, ThatTakesSeveralValuesIsTold) {
  const auto keys = parse_sweep({"moe.experts=8,16", "model.heads=2", "moe.choices=1,2"});
  EXPECT_THAT(swept_settings(keys, combinations(keys).back()),
              ElementsAre("moe.experts=16", "moe.choices=2"));
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
