#include "tuner/planners/micro_batch_order/stage_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "tests/tuner/planners/even_situation.h"
#include "tests/tuner/planners/planned.h"
#include "tuner/planners/micro_batch_order/micro_batch_order.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::stage_cuts_test {
namespace {

using namespace test;
using ::testing::ElementsAre;

double fullest(const BlockSeconds& seconds, const std::vector<int>& blocks) {
  double most = 0;
  std::size_t block = 0;
  for (std::size_t chunk = 0; chunk < blocks.size(); ++chunk) {
    double all = chunk == 0 ? seconds.first : 0;
    for (int i = 0; i < blocks[chunk]; ++i) all += seconds.blocks[block++];
    if (chunk + 1 == blocks.size()) all += seconds.last;
    most = std::max(most, all);
  }
  return most;
}

TEST(StageCuts, GiveStagesWithTheHeadOrSlowBlocksFewerBlocks) {
  EXPECT_THAT(cuts_by_time({{1, 1, 1, 1, 1, 1, 1, 1}, 0, 0}, 4), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(cuts_by_time({{1, 1, 1, 1, 1, 1, 1, 1}, 0, 3}, 3), ElementsAre(4, 3, 1));
  EXPECT_THAT(cuts_by_time({{3, 3, 1, 1, 1, 1, 1, 1}, 0, 0}, 3), ElementsAre(1, 3, 4));
}

TEST(StageCuts, MakeTheFullestPieceAsShortAsAnyCutDoes) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const auto time = [&] { return static_cast<double>(random() % 20); };
    BlockSeconds seconds;
    for (std::size_t block = 3 + random() % 6; block > 0; --block) seconds.blocks.push_back(time());
    seconds.first = time();
    seconds.last = time();
    const int blocks = static_cast<int>(seconds.blocks.size());
    const int chunks = 1 + static_cast<int>(random() % static_cast<unsigned>(blocks));
    const std::vector<int> cuts = cuts_by_time(seconds, chunks);
    int all = 0;
    for (const int one : cuts) {
      EXPECT_GE(one, 1);
      all += one;
    }
    EXPECT_EQ(all, blocks);
    double least = 1e9;
    std::vector<int> tried;
    const std::function<void(int)> try_all = [&](int left) {
      if (static_cast<int>(tried.size()) + 1 == chunks) {
        tried.push_back(left);
        least = std::min(least, fullest(seconds, tried));
        tried.pop_back();
        return;
      }
      const int others = chunks - static_cast<int>(tried.size()) - 1;
      for (int here = 1; here <= left - others; ++here) {
        tried.push_back(here);
        try_all(left - here);
        tried.pop_back();
      }
    };
    try_all(blocks);
    EXPECT_DOUBLE_EQ(fullest(seconds, cuts), least);
  }
}

TEST(StageCuts, OfSeveralPiecesMakeTheFullestStageShorter) {
  // The head is longer than any chunk: the other chunk of its stage becomes short.
  const BlockSeconds seconds{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 4};
  EXPECT_THAT(cuts_of_stages(seconds, 2, 2), ElementsAre(7, 3));
  const std::vector<int> cuts = cuts_of_stages(seconds, 2, 4);
  EXPECT_EQ(cuts[0] + cuts[2], 7);
  EXPECT_EQ(cuts[1] + cuts[3], 3);
}

TEST(StageCuts, EqualCutsAreTheStagesWithoutADecision) {
  for (int blocks = 1; blocks < 12; ++blocks) {
    for (int stages = 1; stages <= blocks; ++stages) {
      std::vector<int> expected;
      for (int block = 0; block < blocks; ++block) {
        expected.push_back(moe::stage_of_block(block, blocks, stages));
      }
      EXPECT_EQ(chunks_in_turn(equal_cuts(blocks, stages), stages).stages, expected);
    }
  }
}

/// Two dense blocks before six with experts, and a head as long as several blocks.
moe::Model uneven_blocks() {
  moe::Model model = test::two_moe_layers();
  model.blocks = 8;
  model.dense_blocks = 2;
  model.d_hidden = 512;
  model.vocabulary = 16384;
  model.global_batch = model.micro_batches = 8;
  return model;
}

struct UnevenPipeline : test::EvenSituation {
  UnevenPipeline() : EvenSituation(uneven_blocks(), moe::Layout{1, 1, 1, 1, 4}, {1e10, 1e-6}) {}
};

TEST(StageCuts, ShortenAnIterationWhereBlocksAndTheHeadDiffer) {
  const UnevenPipeline uneven;
  const Situation& situation = uneven.situation;
  const auto candidates = one_f_one_b_candidates(situation, {});
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_TRUE(moe::decisions_of<moe::PlaceBlocks>(candidates[0].schedule).empty());
  ASSERT_EQ(moe::decisions_of<moe::PlaceBlocks>(candidates[1].schedule).size(), 1u);
  const double equal = simulated_s(situation, candidates[0].schedule),
               by_time = simulated_s(situation, candidates[1].schedule);
  EXPECT_LT(by_time, 0.97 * equal);
  EXPECT_EQ(plan_one_f_one_b(situation, {}), candidates[1].schedule);
}

TEST(Interleaved, BubbleOfEvenStagesIsDividedByTheirChunks) {
  moe::Model model;
  model.blocks = 8;
  model.moe_every = 0;
  model.vocabulary = 2;  // a head that takes next to no time
  model.global_batch = model.micro_batches = 8;
  Cluster cluster = small_cluster();
  cluster.nodes = 2;
  cluster.inter_node = {1e15, 0};
  const moe::Groups groups = groups_of(cluster, moe::Layout{1, 1, 1, 1, 2});
  const moe::Program program = moe::build_iteration(model, groups, 0);
  CostModel costs;
  costs.fits["gemm"].beta_s_per_unit = 1e-9;
  costs.fits["memory"].beta_s_per_unit = 0;
  const moe::Routing none;
  const Situation situation{program, groups, none, costs, cluster};
  const BlockSeconds seconds = block_seconds(situation);
  double work = 0;  // of a stage
  for (const double one : seconds.blocks) work += one / program.stages;
  const double pass = work / program.micro_batches;
  const auto bubble = [&](const moe::Schedule& schedule) {
    return simulated_s(situation, schedule) - work;
  };
  EXPECT_NEAR(bubble(plan_one_f_one_b(situation, {})), pass, 0.05 * pass);
  const auto candidates = interleaved_candidates(situation, {});
  ASSERT_EQ(candidates.size(), 3u);
  EXPECT_NEAR(bubble(candidates[0].schedule), pass, 0.05 * pass);
  EXPECT_NEAR(bubble(candidates[1].schedule), pass / 2, 0.05 * pass);
  EXPECT_NEAR(bubble(candidates[2].schedule), pass / 4, 0.05 * pass);
  EXPECT_NEAR(micro_batch_order_paper_seconds(situation, candidates[2].schedule), work + pass / 4,
              0.05 * pass);
  EXPECT_EQ(plan_interleaved(situation, {}), candidates[2].schedule);
  PlannerOptions asked;
  asked.asked[kStageChunks.key] = 3;
  const auto three = moe::decisions_of<moe::PlaceBlocks>(plan_interleaved(situation, asked));
  ASSERT_EQ(three.size(), 1u);
  EXPECT_EQ(moe::chunks_of_blocks(three[0].stages).back() + 1, 3 * 2);
  asked.asked[kStageChunks.key] = 8;
  EXPECT_THROW(plan_interleaved(situation, asked), moe::Refusal);
}

}  // namespace
}  // namespace tuner::stage_cuts_test
