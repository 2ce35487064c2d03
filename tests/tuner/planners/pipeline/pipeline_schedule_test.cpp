#include "tuner/planners/pipeline/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "tests/tuner/small_program.h"

namespace tuner::pipeline_schedule_test {
namespace {

using namespace test;
using ::testing::ElementsAre;

const moe::StreamAssignment kBeside{"all_to_all", moe::Stream::inter_node};

moe::Program two_layers() {
  moe::Model model;
  model.blocks = 4;
  model.moe_every = 2;
  return moe::build_iteration(model, moe::make_groups(2, 2), 0);
}

TEST(PipelineSchedule, CutsEveryMoeLayerAlikeAndMovesTheExchange) {
  const moe::Program program = two_layers();
  EXPECT_THAT(moe_layers(program), ElementsAre(1, 3));
  const moe::Schedule schedule = pipeline_schedule(program, "tutel", {2, 3});
  EXPECT_EQ(schedule.planner, "tutel");
  using moe::Phase;
  using moe::PipelineSplit;
  EXPECT_THAT(schedule.decisions,
              ElementsAre(PipelineSplit{1, Phase::forward, 2}, PipelineSplit{1, Phase::backward, 3},
                          PipelineSplit{3, Phase::forward, 2}, PipelineSplit{3, Phase::backward, 3},
                          kBeside));
}

TEST(PipelineSchedule, APhaseInOneChunkIsNotCut) {
  const moe::Program program = two_layers();
  EXPECT_THAT(pipeline_schedule(program, "", {1, 1}).decisions, ElementsAre(kBeside));
  EXPECT_EQ(pipeline_schedule(program, "", {1, 2}).decisions.size(), 3u);
}

TEST(PipelineSchedule, OfAModelWithoutExpertsCutsNothing) {
  moe::Model model;
  model.moe_every = 0;
  const moe::Program program = moe::build_iteration(model, moe::make_groups(2, 2), 0);
  EXPECT_TRUE(moe_layers(program).empty());
  EXPECT_TRUE(pipeline_schedule(program, "", {4, 4}).decisions.empty());
}

TEST(PipelineSchedule, DegreesAreThoseOfTheFirstLayer) {
  using moe::Phase;
  using moe::PipelineSplit;
  EXPECT_EQ(degrees_of({}), (Degrees{1, 1}));
  EXPECT_EQ(degrees_of({"", {PipelineSplit{1, Phase::backward, 3}}}), (Degrees{1, 3}));
  EXPECT_EQ(degrees_of({"",
                        {PipelineSplit{1, Phase::forward, 2}, PipelineSplit{3, Phase::forward, 8},
                         PipelineSplit{3, Phase::backward, 5}}}),
            (Degrees{2, 1}));
  const moe::PartitionRange in_four{1, 4, 0, 0}, in_two{3, 2, 0, 0};
  EXPECT_EQ(degrees_of({"", {in_four, in_two}}), (Degrees{4, 4}));
  EXPECT_EQ(degrees_of({"", {in_four, PipelineSplit{3, Phase::backward, 3}}}), (Degrees{4, 4}));
  EXPECT_EQ(degrees_of({"", {in_two, PipelineSplit{1, Phase::backward, 3}}}), (Degrees{1, 3}));
}

TEST(PipelineSchedule, ItsDegreesAreItsParameters) {
  const moe::Schedule schedule = pipeline_schedule(two_layers(), "pipemoe", {4, 1});
  EXPECT_EQ(degrees_json(schedule), R"({"forward_chunks": 4, "backward_chunks": 1})");
  EXPECT_EQ(degrees_of(schedule), (Degrees{4, 1}));
  EXPECT_EQ(schedule.planner, "pipemoe");
}

/// The closed form for 2 ranks with 2000 rows each, of which 1000 travel: exchange 1 s, experts 4
/// s, each permute 1 s, combine 0.5 s, unrelated 4 s.
struct ClosedForm : ::testing::Test {
  SmallLayer layer = small_layer(true);
  moe::Groups groups = two_nodes();
  moe::Routing routing = small_routing({{1000, 1000}, {1000, 1000}});
  CostModel costs = small_costs();
  Cluster cluster = small_cluster();

  double seconds(int chunks) const {
    const Situation situation{layer.program, groups, routing, costs, cluster};
    return pipelined_iteration_s(situation, pipeline_schedule(layer.program, "", {chunks, 1})) -
           kExchange_s;
  }
};

TEST_F(ClosedForm, IsTheEquationOfTheLayerAndTheSumOfTheRest) {
  EXPECT_NEAR(seconds(1), 2 * 1 + 4 + 1 + 4 + 0.5, 1e-9);
  // t_a2a = 0.5, t_exp = 2: case 2, 1 + 4; a permute for each chunk.
  EXPECT_NEAR(seconds(2), 5 + 2 + 4 + 0.5, 1e-9);
  EXPECT_NEAR(seconds(4), 2 * 0.25 + 4 + 4 + 4 + 0.5, 1e-9);
}

TEST_F(ClosedForm, IsAllExchangeWhereThatTakesLongerThanTheExperts) {
  cluster.inter_node.bandwidth_bytes_per_s = 1e5;  // t_a2a = 5, t_exp = 2: case 3, 2 * 2 * 5
  EXPECT_NEAR(seconds(2), 20 + 2 + 4 + 0.5, 1e-3);
}

TEST_F(ClosedForm, ChunksThatDoNotDivideTheRowsCountByTheirMean) {
  routing = small_routing({{500, 501}, {501, 500}});
  // Each rank: 501 rows travel, 1001 are computed: t_a2a = 0.501 / 3, t_exp = 2.002 / 3.
  EXPECT_NEAR(seconds(3), 2 * 0.501 / 3 + 2.002 + 3 + 4 + 0.5, 1e-9);
}

TEST_F(ClosedForm, GoesByTheSlowestRank) {
  routing = small_routing({{500, 1500}, {500, 1500}});  // exchange 1.5 s, experts 2 and 6 s
  EXPECT_NEAR(seconds(2), 2 * 0.75 + 6 + 2 + 4 + 0.5, 1e-9);
}

}  // namespace
}  // namespace tuner::pipeline_schedule_test
