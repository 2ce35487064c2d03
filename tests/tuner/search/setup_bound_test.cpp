#include "tuner/search/setup_bound.h"

#include <gtest/gtest.h>

#include "tests/tuner/search/small_setups.h"

namespace tuner::setup_bound_test {
namespace {

TEST(SetupBound, KnowsFitsThatAreFasterForSmallSizes) {
  CostModel costs;
  LinearFit& line = costs.fits["gemm"];
  line.beta_s_per_unit = 1e-9;
  EXPECT_TRUE(larger_is_no_slower(costs));
  line.alpha_s = -1e-6;
  EXPECT_FALSE(larger_is_no_slower(costs));
  line.alpha_s = 1e-6;
  LinearFit& points = costs.fits["memory"];
  points.points = {{1, 1}, {2, 1.5}, {4, 3}};
  EXPECT_TRUE(larger_is_no_slower(costs));
  points.points.push_back({8, 6.5});
  EXPECT_FALSE(larger_is_no_slower(costs));
}

TEST(SetupBound, CostsNothingOfStatesThatDoNotFit) {
  const moe::Model model = test::small_setup_model(2, 8);
  CostedCluster costed = test::small_setup_cluster(1, 4);
  const TrainingSetup setup{{2, 2, 1, 1, 1}, moe::BatchPer::rank, 2};
  const SetupCosts all = setup_costs(model, setup, costed, "uniform");
  ASSERT_EQ(all.sharded.size(), 1U);
  const std::int64_t whole = state_bytes(all.whole, model, setup);
  const std::int64_t sharded = state_bytes(all.sharded.front(), model, setup);
  ASSERT_LT(sharded, whole);
  EXPECT_GT(bound_s(all.whole, model, setup, Passes::one_after_other), 0);

  costed.cluster.memory_bytes = whole - 1;
  const SetupCosts limited = setup_costs(model, setup, costed, "uniform");
  EXPECT_EQ(state_bytes(limited.whole, model, setup), whole);
  EXPECT_EQ(bound_s(limited.whole, model, setup, Passes::one_after_other), 0);
  EXPECT_EQ(bound_s(limited.sharded.front(), model, setup, Passes::one_after_other),
            bound_s(all.sharded.front(), model, setup, Passes::one_after_other));
}

/// Halves of a micro-batch take at least half as long.
TEST(SetupBound, OfFewerMicroBatchesIsNotAboveThatOfMore) {
  const moe::Model model = test::small_setup_model(4, 32);
  const CostedCluster costed = test::small_setup_cluster(2, 2);
  TrainingSetup setup{{1, 2, 1, 1, 2}, moe::BatchPer::rank, 2};
  const SetupPieces few = setup_costs(model, setup, costed, "uniform").whole;
  for (const int count : {4, 8, 16}) {
    SCOPED_TRACE(count);
    setup.micro_batches = count;
    const SetupPieces own = setup_costs(model, setup, costed, "uniform").whole;
    for (const Passes passes : {Passes::one_after_other, Passes::filled_and_drained}) {
      EXPECT_LT(bound_s(in_micro_batches(few, 2, count, 4), model, setup, passes),
                bound_s(own, model, setup, passes));
    }
  }
}

/// A stage keeps what as many micro-batches keep as there are stages from it on.
TEST(SetupBound, CountsMicroBatchesUnderWay) {
  const moe::Model model = test::small_setup_model(4, 32);
  CostedCluster costed = test::small_setup_cluster(2, 2);
  costed.cluster.memory_bytes = std::int64_t{1} << 40;
  const TrainingSetup setup{{1, 1, 1, 1, 4}, moe::BatchPer::rank, 8};
  const SetupPieces pieces = setup_costs(model, setup, costed, "uniform").whole;
  const std::int64_t one = least_bytes(pieces, model, setup, Passes::one_after_other);
  const std::int64_t several = least_bytes(pieces, model, setup, Passes::filled_and_drained);
  EXPECT_GT(pieces.blocks.begin()->second.least_kept_bytes(), 0);
  EXPECT_GT(several, one + 2 * pieces.blocks.begin()->second.least_kept_bytes());
  // Less memory than one block to each stage needs asks for other cuts, which take longer.
  const double anywhere_s = bound_s(pieces, model, setup, Passes::filled_and_drained);
  EXPECT_GE(bound_s(pieces, model, setup, Passes::filled_and_drained, several + several / 100),
            anywhere_s);
}

/// The less memory a rank has, the more must be computed again: attention and dense layers first, as
/// far as forward of all blocks.
TEST(SetupBound, KnowsWhatIsComputedAgain) {
  const moe::Model model = test::small_setup_model(4, 32);
  CostedCluster costed = test::small_setup_cluster(2, 2);
  costed.cluster.memory_bytes = std::int64_t{1} << 40;
  for (const int stages : {1, 2}) {
    SCOPED_TRACE(stages);
    const TrainingSetup setup{{1, 4 / stages, 1, 1, stages}, moe::BatchPer::rank, 8};
    const SetupCosts costs = setup_costs(model, setup, costed, "uniform");
    const SetupPieces& pieces = costs.sharded.empty() ? costs.whole : costs.sharded.front();
    const PieceCost& block = pieces.blocks.at(kind_of_block(model, 1));  // with experts
    ASSERT_EQ(block.kept.size(), 3U);
    EXPECT_GT(block.kept[0].bytes, block.kept[1].bytes);
    EXPECT_GT(block.kept[1].bytes, block.kept[2].bytes);
    EXPECT_TRUE(block.kept[0].again_s.empty());
    EXPECT_GT(block.kept[1].again_s.front(), 0);
    EXPECT_GT(block.kept[2].again_s.front(), block.kept[1].again_s.front());
    EXPECT_LE(block.kept[2].again_s.front(), block.forward_s.front());
    const Passes passes = stages == 1 ? Passes::one_after_other : Passes::filled_and_drained;
    const std::int64_t least = least_bytes(pieces, model, setup, passes);
    double before_s = bound_s(pieces, model, setup, passes);
    const double freely_s = before_s;
    const std::int64_t freed = 2 * (block.kept[0].bytes - block.kept[2].bytes);
    // Of whole pieces: two of these steps may need as many.
    for (const std::int64_t more : {freed / 2, freed / 4, freed / 8}) {
      const double bound = bound_s(pieces, model, setup, passes, least + more);
      EXPECT_GE(bound, before_s) << more;
      before_s = bound;
    }
    EXPECT_GT(before_s, freely_s);
    EXPECT_LT(before_s, freely_s + 8 * 4 * block.forward_s.front());
  }
}

/// Four equal blocks in three stages: one has two of them.
TEST(SetupBound, CutsWholeBlocks) {
  const moe::Model model = test::small_setup_model(4, 64);
  SetupPieces pieces;
  for (const int block : {0, 1}) pieces.blocks[kind_of_block(model, block)].pass_s = {1};
  const TrainingSetup setup{{1, 1, 1, 1, 3}, moe::BatchPer::rank, 64};
  // The first stage has two, and the last micro-batch passes it last.
  EXPECT_NEAR(bound_s(pieces, model, setup, Passes::filled_and_drained), 64 * 2, 1e-3);
}

}  // namespace
}  // namespace tuner::setup_bound_test
