#include "moe/model/combination_refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "tests/moe/train/training_case.h"

namespace moe::combination_refusal_test {
namespace {

using test::small_model;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(CombinationRefusal, NoneInWhatGoesTogether) {
  Model model = small_model(DType::f32);
  EXPECT_FALSE(combination_refusal(model));
  model.order = "einsum";
  EXPECT_FALSE(combination_refusal(model));
  model.gate = "soft_moe";
  model.capacity_factor = 1;
  EXPECT_FALSE(combination_refusal(model));
  model.gate = "expert_choice";
  model.order = "sparse";
  EXPECT_FALSE(combination_refusal(model));
  EXPECT_NO_THROW(check(model, make_groups(4, 4)));
}

TEST(CombinationRefusal, AGateThatFillsExpertsNeedsToKnowTheirCapacity) {
  Model model = small_model(DType::f32);
  model.gate = "expert_choice";
  const auto refusal = combination_refusal(model);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->key, "capacity_factor");
  EXPECT_THAT(refusal->message, HasSubstr("a number above 0 with gate = \"expert_choice\""));
  EXPECT_THAT([&] { check(model, make_groups(1, 1)); },
              ThrowsMessage<Refusal>(HasSubstr("model small: capacity_factor: ")));
  model.moe_every = 0;
  EXPECT_FALSE(combination_refusal(model)) << "nothing has experts";
}

TEST(CombinationRefusal, RowsArePaddedToACapacity) {
  Model model = small_model(DType::f32);
  model.exchange = ExchangedRows::padded;
  const auto refusal = combination_refusal(model);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->key, "exchange");
  model.capacity_factor = 1;
  EXPECT_FALSE(combination_refusal(model));
}

TEST(CombinationRefusal, SlotsThatMixTokensNeedAnOrderThatCan) {
  Model model = small_model(DType::f32);
  model.gate = "soft_moe";
  model.capacity_factor = 1;
  const auto refusal = combination_refusal(model);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->key, "order");
  EXPECT_EQ(refusal->message,
            "expected \"einsum\" with gate = \"soft_moe\", whose slots mix tokens, got \"sparse\", "
            "which copies them");
}

TEST(CombinationRefusal, AMatrixOfSlotsIsTheSameOnAnyRanks) {
  Model model = small_model(DType::f32);
  model.gate = "soft_moe";
  model.order = "einsum";
  model.capacity_factor = 1;
  model.capacity_groups = 0;
  const auto refusal = combination_refusal(model);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->key, "capacity_groups");
  EXPECT_EQ(
      refusal->message,
      "expected a number above 0 with gate = \"soft_moe\", whose matrix has a column for each "
      "slot of a group, got 0, which makes other groups and so another matrix on other ranks: "
      "28 makes a group of each sequence");
  model.capacity_groups = 28;
  EXPECT_NO_THROW(check(model, make_groups(4, 4)));
}

TEST(CombinationRefusal, AHookThatMustKnowItsTokensStandsWhereTheyDoNotTravel) {
  Model model = small_model(DType::f32);
  model.hooks["after_dispatch"] = "jitter";
  const auto refusal = combination_refusal(model);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->key, "hooks");
  EXPECT_THAT(refusal->message,
              HasSubstr("after_dispatch = \"jitter\": expected before_moe_start"));
  model.hooks = {{"before_moe_end", "jitter"}, {"after_dispatch", "round_bf16"}};
  EXPECT_FALSE(combination_refusal(model));
}

TEST(CombinationRefusal, GroupsOfSeveralRanksAreRefusedWithTheRanksThatFit) {
  Model model = small_model(DType::f32);
  model.gate = "expert_choice";
  model.capacity_factor = 1;
  model.capacity_groups = 2;
  EXPECT_NO_THROW(check(model, make_groups(2, 2)));
  EXPECT_THAT([&] { check(model, make_groups(4, 4)); },
              ThrowsMessage<Refusal>(HasSubstr(
                  "capacity_groups = 2 does not divide by 4 ranks: expected --layout ep=2,pp=2 or "
                  "capacity_groups = 4 or --ranks 2 --layout ep=2")));
}

}  // namespace
}  // namespace moe::combination_refusal_test
