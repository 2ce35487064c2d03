#include "tuner/costs/rank_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tuner/costs/op_costs.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::rank_classes_test {
namespace {

using ::testing::ElementsAre;

/// Two MoE layers of so many experts, by default as many as ranks, on nodes of four ranks.
struct Even {
  moe::Groups groups;
  moe::Program program;
  moe::Routing routing;
  Cluster cluster;

  explicit Even(moe::Layout layout, const char* asked = "uniform", int experts = 0) {
    std::vector<int> nodes;
    for (int rank = 0; rank < moe::rank_count(layout); ++rank) nodes.push_back(rank / 4);
    groups = moe::make_groups(layout, nodes);
    moe::Model model;
    model.name = "even";
    model.blocks = 2 * layout.pipeline;
    model.moe_every = 1;
    model.experts = experts > 0 ? experts : layout.expert;
    model.choices = 2;
    model.sequence_length = 64;
    model.global_batch = moe::stage_ranks(layout);
    program = moe::build_iteration(model, groups, 0);
    routing = make_routing(asked, program, groups, 1);
  }
  RankClasses classes(int most_single = 0) const {
    const moe::AllRoutedRows routed(program, routing);
    return rank_classes(program, groups, routed.layers(), cluster, most_single);
  }
};

TEST(RankClasses, OfEvenRanksAreThePlacesInTheirNodes) {
  const RankClasses classes = Even(moe::Layout{1, 32, 1}).classes();
  EXPECT_THAT(classes.rank_of, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(classes.count, ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(classes.groups.node_of, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(classes.groups.ranks, 4);
  EXPECT_EQ(classes.of_rank[29], 1);
}

TEST(RankClasses, OfBlocksThatAreAlikeAreOfOneBlock) {
  Even even(moe::Layout{1, 32, 1});
  for (const int nodes : {1, 2, 4}) {
    moe::Level& level = even.groups.levels.emplace_back();
    for (const int node : even.groups.node_of) level.block_of.push_back(node / nodes);
  }
  const RankClasses classes = even.classes();
  EXPECT_THAT(classes.rank_of, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(classes.groups.levels[1].block_of, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(classes.groups.levels[1].alike, ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(classes.groups.levels[2].alike, ElementsAre(4, 4, 4, 4));
}

TEST(RankClasses, BlocksOfOtherSizesAreNotAlike) {
  Even even(moe::Layout{1, 32, 1});
  moe::Level& level = even.groups.levels.emplace_back();  // of three, three and two nodes
  for (const int node : even.groups.node_of) level.block_of.push_back(node / 3);
  const RankClasses classes = even.classes();
  EXPECT_THAT(classes.rank_of, ElementsAre(0, 1, 2, 3, 24, 25, 26, 27));
  EXPECT_THAT(classes.groups.levels[0].alike, ElementsAre(3, 3, 3, 3, 2, 2, 2, 2));
}

TEST(RankClasses, OfThousandsOfEvenRanksAreAsMany) {
  EXPECT_EQ(Even(moe::Layout{64, 32, 1}).classes().rank_of.size(), 4u);
  EXPECT_EQ(Even(moe::Layout{1, 4096, 1}).classes().rank_of.size(), 24u)
      << "64 copies from each rank go to the first experts alone; of both kinds of nodes those "
         "before and after the other kind are told apart";
}

TEST(RankClasses, EveryPipelineStageHasThemAnew) {
  const RankClasses classes = Even(moe::Layout{1, 16, 1, 1, 2}).classes();
  EXPECT_THAT(classes.rank_of, ElementsAre(0, 1, 2, 3, 16, 17, 18, 19));
  EXPECT_EQ(moe::stage_of(classes.groups, 3), 0);
  EXPECT_EQ(moe::stage_of(classes.groups, 4), 1);
  EXPECT_THAT(classes.groups.node_of, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(RankClasses, RanksWithOneExpertMoreAreNotAlikeTheOthers) {
  // Of 32 experts the first 8 of 24 ranks have two.
  const RankClasses classes = Even(moe::Layout{1, 24, 1}, "uniform", 32).classes();
  EXPECT_THAT(classes.rank_of, ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(classes.count, ElementsAre(2, 2, 2, 2, 4, 4, 4, 4));
}

TEST(RankClasses, RanksWithOtherRowsAreNotAlike) {
  const Even skewed(moe::Layout{1, 32, 1}, "zipf:1.5");
  const RankClasses classes = skewed.classes();
  EXPECT_EQ(classes.rank_of.size(), 32u);
  const moe::AllRoutedRows routed(skewed.program, skewed.routing);
  const auto in_layer = classes_in_layer(routed.layers()[0], skewed.groups);
  const std::set<int> different(in_layer.begin(), in_layer.end());
  const auto& row = skewed.routing.layers[0].tokens[0];
  EXPECT_EQ(different.size(), std::set<std::int64_t>(row.begin(), row.end()).size());
}

TEST(RankClasses, AreSingleRanksWhereThereAreFewOrTheyShareProcessors) {
  Even few(moe::Layout{1, 32, 1});
  EXPECT_EQ(few.classes(32).rank_of.size(), 32u);
  few.cluster.shared_processors = {{2, {0, 1, 2, 3}}};
  EXPECT_EQ(few.classes().rank_of.size(), 32u);
}

TEST(RankClasses, ARowForEachRankMakesEachRankItsOwn) {
  Even table(moe::Layout{1, 32, 1});
  table.routing = moe::with_all_rows(table.routing);
  EXPECT_EQ(table.classes().rank_of.size(), 32u);
}

}  // namespace
}  // namespace tuner::rank_classes_test
