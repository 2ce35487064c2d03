#include "moe/model/conflict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>


#include "moe/errors.h"
#include "tests/moe/train/training_case.h"

namespace moe {
namespace {

using ::testing::HasSubstr;
using testing::small_model;
using ::testing::ThrowsMessage;

TEST(Conflict, NoneInWhatGoesTogether) {
  Model model = small_model(DType::f32);
  EXPECT_FALSE(conflict_of(model));
  model.order = "einsum";
  EXPECT_FALSE(conflict_of(model));
  model.gate = "soft_moe";
  model.capacity_factor = 1;
  EXPECT_FALSE(conflict_of(model));
  model.gate = "expert_choice";
  model.order = "sparse";
  EXPECT_FALSE(conflict_of(model));
  EXPECT_NO_THROW(check(model, make_groups(4, 4)));
}

TEST(Conflict, AGateThatFillsExpertsNeedsToKnowTheirCapacity) {
  Model model = small_model(DType::f32);
  model.gate = "expert_choice";
  const auto conflict = conflict_of(model);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->key, "capacity_factor");
  EXPECT_THAT(conflict->message, HasSubstr("a number above 0 with gate = \"expert_choice\""));
  EXPECT_THAT([&] { check(model, make_groups(1, 1)); },
              ThrowsMessage<Refusal>(HasSubstr("model small: capacity_factor: ")));
  model.moe_every = 0;
  EXPECT_FALSE(conflict_of(model)) << "nothing has experts";
}

TEST(Conflict, SlotsThatMixTokensNeedAnOrderThatCan) {
  Model model = small_model(DType::f32);
  model.gate = "soft_moe";
  model.capacity_factor = 1;
  const auto conflict = conflict_of(model);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->key, "order");
  EXPECT_EQ(conflict->message,
            "expected \"einsum\" with gate = \"soft_moe\", whose slots mix tokens, got \"sparse\", "
            "which copies them");
}

TEST(Conflict, AHookThatMustKnowItsTokensStandsWhereTheyDoNotTravel) {
  Model model = small_model(DType::f32);
  model.hooks["after_dispatch"] = "jitter";
  const auto conflict = conflict_of(model);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->key, "hooks");
  EXPECT_THAT(conflict->message,
              HasSubstr("after_dispatch = \"jitter\": expected before_moe_start"));
  model.hooks = {{"before_moe_end", "jitter"}, {"after_dispatch", "round_bf16"}};
  EXPECT_FALSE(conflict_of(model));
}

TEST(Conflict, GroupsOfSeveralRanksAreRefusedWithTheRanksThatFit) {
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
}  // namespace moe
