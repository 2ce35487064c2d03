#include "tuner/planners/lancet/lancet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "moe/model/iteration.h"
#include "moe/passes/place_weight_gradient.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/scenario.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner::lancet_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Lancet's smaller model, gates of one choice with a capacity, where the all-to-all takes a fifth
/// of the time.
struct Lancet : ::testing::Test {
  Scenario scenario = load_scenario({.model = "gpt2-s-moe",
                                     .cluster = "fsmoe-testbed-b-printed",
                                     .database = {},
                                     .ranks = 16,
                                     .layout = {}});
  Situation situation = scenario.situation();

  void SetUp() override {
    scenario.costs.fits.at(link_key("all_to_all", "inter_node")).beta_s_per_unit *= 10;
  }
  /// The situation of another Program, which must live as long.
  Situation with(const moe::Program& other) const {
    return {other, situation.groups, situation.routing, situation.costs, situation.cluster};
  }
  moe::Program program(const moe::Schedule& schedule) const {
    return moe::apply(situation.program, schedule);
  }
  double simulated(const moe::Schedule& schedule) const {
    return simulate(program(schedule), situation.groups, situation.routing, situation.costs,
                    situation.cluster)
        .duration_s;
  }
};

TEST_F(Lancet, CutsRangesOverTheGateAndPutsWeightGradientsAfterExchanges) {
  const moe::Schedule schedule = plan_lancet(situation, {});
  const auto ranges = moe::decisions_of<moe::PartitionRange>(schedule);
  ASSERT_THAT(ranges, SizeIs(6)) << "one around each MoE layer";
  int reaching = 0;
  for (const moe::PartitionRange& range : ranges) {
    EXPECT_GE(range.parts, 2);
    reaching += range.ops_before > 0 || range.ops_after > 0;
  }
  EXPECT_EQ(reaching, 6);
  EXPECT_THAT(moe::decisions_of<moe::PlaceWeightGradient>(schedule), SizeIs(Ge(12)));
  EXPECT_THAT(lancet_remark(situation, {}, schedule),
              ContainsRegex("layers? 1.* in [2-8] parts with"));
}

TEST_F(Lancet, CutsIntoNoMorePartsThanChunksAreAllowed) {
  const auto most_parts = [&](const PlannerOptions& options) {
    int most = 0;
    for (const auto& range :
         moe::decisions_of<moe::PartitionRange>(plan_lancet(situation, options))) {
      most = std::max(most, range.parts);
    }
    return most;
  };
  EXPECT_EQ(most_parts({.most_chunks = 2}), 2);
  EXPECT_GT(most_parts({.most_chunks = 8}), 2);
  EXPECT_GT(most_parts({.asked = {{kMostParts.key, 8}}, .most_chunks = 2}), 2)
      << "what is asked for comes first";
}

TEST_F(Lancet, GainsByEachPassAndMostByBoth) {
  const auto with = [&](bool ranges, bool weight_gradients) {
    return simulated(lancet_schedule(situation, {ranges, weight_gradients}));
  };
  const double neither_s = with(false, false), both_s = with(true, true);
  EXPECT_LT(with(true, false), 0.98 * neither_s);
  EXPECT_LT(with(false, true), 0.99 * neither_s);
  EXPECT_LT(both_s, with(true, false));
  EXPECT_LT(both_s, with(false, true));
}

TEST_F(Lancet, ItsCostIsTheSumWithoutOverlapAndNearTheSimulationWithIt) {
  const moe::Schedule nothing{"", {}};
  // Where ranks of a node share a card, only the simulation knows.
  EXPECT_NEAR(lancet_paper_seconds(situation, nothing), simulated(nothing),
              0.05 * simulated(nothing));
  const moe::Schedule schedule = plan_lancet(situation, {});
  const double paper_s = lancet_paper_seconds(situation, schedule);
  EXPECT_NEAR(paper_s, simulated(schedule), 0.1 * paper_s);
}

TEST_F(Lancet, CutsFromAfterAGateThatNeedsTheWholeBatchOverDenseOps) {
  moe::Model model = scenario.model;
  model.gate = "batch_prioritized";
  const moe::Program whole = moe::build_iteration(model, scenario.groups, 0);
  const Situation other = with(whole);
  const moe::Schedule schedule = plan_lancet(other, {});
  const auto ranges = moe::decisions_of<moe::PartitionRange>(schedule);
  ASSERT_THAT(ranges, SizeIs(6)) << "one from after each gate";
  for (const moe::PartitionRange& range : ranges) {
    EXPECT_EQ(range.ops_before, 0);
    EXPECT_GT(range.ops_after, 0);
  }
  // Along capacity the exchanges have the experts alone to run beside.
  moe::Schedule along_capacity = lancet_schedule(other, {false, false});
  for (const moe::PartitionRange& range : ranges) {
    along_capacity.decisions.push_back(
        moe::PipelineSplit{range.layer, moe::Phase::forward, range.parts});
  }
  const double ranges_s = simulated_s(other, lancet_schedule(other, {true, false}));
  EXPECT_LT(ranges_s, 0.98 * simulated_s(other, along_capacity));
  EXPECT_LT(simulated_s(other, schedule), ranges_s);
  EXPECT_THAT(lancet_remark(other, {}, schedule),
              HasSubstr("; layers 1, 3, 5, 7, 9, 11 not over the gate: gate \"batch_prioritized\" "
                        "with choices = 1 and drop = \"probability\" needs the whole batch"));
}

TEST_F(Lancet, CutsLayersOfOrdersThatNeedTheWholeBatchAlongCapacityAlone) {
  moe::Model model = scenario.model;
  model.order = "einsum";
  const moe::Program whole = moe::build_iteration(model, scenario.groups, 0);
  const Situation other = with(whole);
  const moe::Schedule schedule = plan_lancet(other, {});
  EXPECT_TRUE(moe::decisions_of<moe::PartitionRange>(schedule).empty());
  const auto splits = moe::decisions_of<moe::PipelineSplit>(schedule);
  ASSERT_THAT(splits, SizeIs(6)) << "every MoE layer";
  for (const moe::PipelineSplit& split : splits) {
    EXPECT_EQ(split.phase, moe::Phase::forward);
    EXPECT_GE(split.chunks, 2);
  }
  EXPECT_FALSE(moe::decisions_of<moe::PlaceWeightGradient>(schedule).empty());
  EXPECT_LT(simulated_s(other, lancet_schedule(other, {true, false})),
            simulated_s(other, lancet_schedule(other, {false, false})));
  const std::string remark = lancet_remark(other, {}, schedule);
  EXPECT_THAT(remark, ContainsRegex("layers 1, 3, .* in [2-8] chunks along capacity"));
  EXPECT_THAT(remark, HasSubstr("; layers 1, 3, 5, 7, 9, 11 not along the batch: "));
  EXPECT_THAT(remark, HasSubstr("\"dispatch mask\""));
}

TEST_F(Lancet, LeavesOutWhatApplyRefusesAndSaysWhy) {
  moe::Model model = scenario.model;
  model.micro_batches = 2;
  moe::Program program = moe::build_iteration(model, scenario.groups, 0);
  // Axes are those of the first micro-batch: in the second an op of layer 3 is cut already.
  const auto permute = std::find_if(program.ops.begin(), program.ops.end(), [](const moe::Op& op) {
    return op.micro_batch == 1 && op.layer == 3 && moe::kind_name(op) == "permute";
  });
  ASSERT_NE(permute, program.ops.end());
  permute->reads.front().slice = {0, 2};
  const moe::Routing routing = moe::share_among_micro_batches(scenario.routing, 2);
  const Situation other{program, situation.groups, routing, situation.costs, situation.cluster};
  const moe::Schedule schedule = lancet_schedule(other, {true, false});
  EXPECT_TRUE(moe::is_legal(program, schedule));
  std::vector<int> layers;
  for (const auto& range : moe::decisions_of<moe::PartitionRange>(schedule)) {
    layers.push_back(range.layer);
  }
  EXPECT_THAT(layers, ::testing::IsSubsetOf({1, 5, 7, 9, 11}));
  EXPECT_THAT(layers, SizeIs(Ge(1)));
  EXPECT_THAT(
      lancet_remark(other, {}, schedule),
      HasSubstr("; partition_range: layer 3: \"permute #2\" cannot be cut along the batch"));
}

}  // namespace
}  // namespace tuner::lancet_test
