#include "tuner/search/setup_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "moe/errors.h"
#include "moe/model/layout_refusal.h"

namespace tuner::setup_space_test {
namespace {

using ::testing::Contains;
using ::testing::Key;

moe::Model small_model() {
  moe::Model model;
  model.name = "small";
  model.global_batch = 8;
  return model;
}

TEST(SetupSpace, HasEveryLayoutAndMicroBatchThatTheModelTakes) {
  const moe::Model model = small_model();
  const SetupSpace space = setups_of(model, 8, {}, std::nullopt);
  std::set<std::string> layouts;
  for (const TrainingSetup& setup : space.setups) {
    EXPECT_FALSE(moe::layout_refusal(with_setup(model, setup), setup.layout));
    layouts.insert(moe::to_text(setup.layout));
  }
  EXPECT_EQ(static_cast<int>(layouts.size()), space.layouts);
  // Two blocks: one stage of 8 ranks, (dp, ep, esp) in 10 ways with tp of 1, 2, 4; or two stages of 4, in 6.
  EXPECT_EQ(space.layouts, 10 * 3 + 6 * 3);
  EXPECT_THAT(space.refused,
              Contains(Key("N blocks on N pipeline stages: a stage would have none")));
}

TEST(SetupSpace, SharesSequencesWhereRanksOutnumberThem) {
  moe::Model model = small_model();
  model.global_batch = 2;
  const SetupSpace space = setups_of(model, 4, parse_layout_range("tp=2,pp=1").value(), {{1}});
  ASSERT_FALSE(space.setups.empty());
  for (const TrainingSetup& setup : space.setups)
    EXPECT_EQ(setup.batch_per, moe::BatchPer::tp_group);
}

TEST(SetupSpace, KeepsToRanges) {
  const LayoutRange range = parse_layout_range("tp=2..4,ep=4").value();
  for (const TrainingSetup& setup : setups_of(small_model(), 8, range, {{2}}).setups) {
    EXPECT_GE(setup.layout.tensor, 2);
    EXPECT_LE(setup.layout.tensor, 4);
    EXPECT_EQ(setup.layout.expert, 4);
    EXPECT_EQ(setup.micro_batches, 2);
  }
  for (const char* wrong :
       {"", "tp", "tp=", "tp=0", "tp=4..2", "xp=2", "tp=1..", "tp=2;ep=1", "tp=1..8,tp=2"}) {
    EXPECT_THROW(parse_layout_range(wrong), moe::InputError) << wrong;
  }
  for (const char* wrong : {"", "0", "1,", "x", "1..4", "2,4,2"}) {
    EXPECT_THROW(parse_micro_batches(wrong), moe::InputError) << wrong;
  }
}

TEST(SetupSpace, UsualLayoutsKeepTpAndEspWithinANode) {
  EXPECT_FALSE(parse_layout_range("usual"));
  const moe::Model model = small_model();
  const SetupSpace all = setups_of(model, 8, {}, {{1}});
  const SetupSpace usual = setups_of(model, 8, usual_layouts(2), {{1}});
  const auto spans_nodes = [](const TrainingSetup& setup) {
    return setup.layout.tensor > 2 || setup.layout.expert_sharded > 2;
  };
  EXPECT_TRUE(std::ranges::any_of(all.setups, spans_nodes));
  EXPECT_TRUE(std::ranges::none_of(usual.setups, spans_nodes));
  EXPECT_EQ(std::ranges::count_if(all.setups, std::not_fn(spans_nodes)), std::ssize(usual.setups));
  EXPECT_GT(usual.refused.at("tp or esp over several nodes, which --layouts all tries"), 0);
  // Nodes of one rank: whatever is exchanged crosses nodes.
  EXPECT_EQ(setups_of(model, 8, usual_layouts(1), {{1}}).setups.size(), all.setups.size());
}

TEST(SetupSpace, DividesNoExpertsWhereThereAreNone) {
  moe::Model model = small_model();
  model.moe_every = 0;
  const SetupSpace space = setups_of(model, 8, {}, {{1}});
  ASSERT_FALSE(space.setups.empty());
  for (const TrainingSetup& setup : space.setups) {
    EXPECT_EQ(setup.layout.expert * setup.layout.expert_sharded, 1);
  }
  EXPECT_THAT(space.refused, Contains(Key("no block has experts for ep or esp to divide")));
}

TEST(SetupSpace, ReasonsKeepTheNamesThatHaveDigits) {
  EXPECT_EQ(without_numbers("12 blocks: no gemm_f64 of 3.5 in bf16"),
            "N blocks: no gemm_f64 of N.N in bf16");
}

}  // namespace
}  // namespace tuner::setup_space_test
