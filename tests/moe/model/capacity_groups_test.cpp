#include "moe/model/capacity_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/moe/train/training_case.h"

namespace moe::capacity_groups_test {
namespace {

using ::testing::HasSubstr;

/// 28 sequences of 8 tokens.
Model open_model(int micro_batches = 1) {
  Model model = test::small_model(DType::f64);
  model.capacity_factor = 1;
  model.capacity_groups = 0;
  model.micro_batches = micro_batches;
  return model;
}

TEST(CapacityGroups, AreThoseOfTheModelOrOneForEachRankAndMicroBatch) {
  const Layout four{2, 1, 2, 2, 3};
  EXPECT_EQ(capacity_groups(open_model(), four), 4);
  EXPECT_EQ(capacity_groups(open_model(7), four), 28);
  Model model = open_model();
  model.capacity_groups = 28;
  EXPECT_EQ(capacity_groups(model, four), 28);
}

TEST(CapacityGroups, OfACheckpointAreTakenWhereTheyDivide) {
  const Layout two{1, 2, 1};
  EXPECT_EQ(taken_groups(4, 7, open_model(), two).groups, 4);
  EXPECT_EQ(taken_groups(4, 7, open_model(2), two).groups, 4);
  EXPECT_EQ(taken_groups(4, 7, open_model(), two).remark, "");
  const TakenGroups other = taken_groups(1, 7, open_model(), {1, 4, 1});
  EXPECT_EQ(other.groups, 0);
  EXPECT_EQ(
      other.remark,
      "capacity_groups was 1 up to iteration 7, and is 4 from there on, one for each rank and "
      "micro-batch: tokens are routed otherwise (capacity_groups = 4 fits both, from the "
      "first iteration on)");
  EXPECT_THAT(taken_groups(4, 7, open_model(7), {1, 2, 1}).remark,
              HasSubstr("capacity_groups = 28 fits both"));
}

TEST(CapacityGroups, ThatNothingLeavesOpenAreNotTaken) {
  Model model = open_model();
  model.capacity_groups = 2;
  EXPECT_EQ(taken_groups(4, 7, model, {1, 2, 1}).groups, 0);
  model = open_model();
  EXPECT_EQ(taken_groups(0, 7, model, {1, 2, 1}).groups, 0) << "a dropless checkpoint";
  model.capacity_factor.reset();
  EXPECT_EQ(taken_groups(4, 7, model, {1, 4, 1}).groups, 0);
  EXPECT_EQ(taken_groups(1, 7, model, {1, 4, 1}).remark, "");
}

}  // namespace
}  // namespace moe::capacity_groups_test
