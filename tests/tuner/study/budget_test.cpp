#include "tuner/study/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuner::budget_test {
namespace {

using ::testing::HasSubstr;

TEST(Budget, LetsNoTrainingBeginThatWouldEndAfterIt) {
  Budget budget(3600);
  EXPECT_NO_THROW(budget.expect_training({})) << "nothing is known of the first";
  EXPECT_NO_THROW(budget.expect_training(3000));
  try {
    budget.expect_training(4000);
    FAIL();
  } catch (const EndedEarly& early) {
    EXPECT_THAT(early.what(), HasSubstr("the budget of 60 min ends before the next training "
                                        "would, which takes about 67 min: --resume goes on"));
    EXPECT_FALSE(early.is_failure) << "it was asked for";
  }
}

TEST(Budget, OfNoneIsAnyTime) {
  Budget budget(0);
  EXPECT_NO_THROW(budget.expect_training(1e9));
}

}  // namespace
}  // namespace tuner::budget_test
