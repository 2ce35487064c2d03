#include "tuner/search/setup_bound.h"

#include <gtest/gtest.h>

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
  moe::Model model;
  model.sequence_length = 16;
  model.vocabulary = 64;
  model.d_model = 32;
  model.d_hidden = 96;
  model.heads = 4;
  model.blocks = 2;
  model.experts = 4;
  model.global_batch = 8;
  CostedCluster costed;
  costed.cluster.nodes = 1;
  costed.cluster.ranks_per_node = 4;
  costed.cluster.intra_node = {1e10, 1e-6};
  for (const char* unit : {"gemm", "memory"}) {
    costed.costs.fits[unit].alpha_s = 1e-6;
    costed.costs.fits[unit].beta_s_per_unit = 1e-11;
  }
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
  moe::Model model;
  model.sequence_length = 16;
  model.vocabulary = 64;
  model.d_model = 32;
  model.d_hidden = 96;
  model.heads = 4;
  model.blocks = 4;
  model.experts = 4;
  model.global_batch = 32;
  CostedCluster costed;
  costed.cluster.nodes = 2;
  costed.cluster.ranks_per_node = 2;
  costed.cluster.inter_node = {1e9, 1e-5};
  costed.cluster.intra_node = {1e10, 1e-6};
  for (const char* unit : {"gemm", "memory"}) {
    costed.costs.fits[unit].alpha_s = 1e-6;
    costed.costs.fits[unit].beta_s_per_unit = 1e-11;
  }
  TrainingSetup setup{{1, 2, 1, 1, 2}, moe::BatchPer::rank, 2};
  const SetupPieces few = setup_costs(model, setup, costed, "uniform").whole;
  for (const int count : {4, 8, 16}) {
    SCOPED_TRACE(count);
    setup.micro_batches = count;
    const SetupPieces own = setup_costs(model, setup, costed, "uniform").whole;
    for (const Passes passes : {Passes::one_after_other, Passes::filled_and_drained}) {
      EXPECT_LT(bound_s(in_micro_batches(few, 2, count), model, setup, passes),
                bound_s(own, model, setup, passes));
    }
  }
}

}  // namespace
}  // namespace tuner::setup_bound_test
