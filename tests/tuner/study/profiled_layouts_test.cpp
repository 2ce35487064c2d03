#include "tuner/study/profiled_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::profiled_layouts_test {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

moe::Program program_of(const char* layout, std::vector<int> node_of = {0, 1, 2, 3}) {
  moe::Model model;
  model.blocks = 2;
  model.moe_every = 1;
  model.global_batch = 16;
  const auto ranks = static_cast<int>(node_of.size());
  return moe::build_iteration(
      model, moe::make_groups(moe::parse_layout(layout, ranks), std::move(node_of)), 0);
}

std::vector<std::string> kinds_of(const moe::Program& program) {
  std::vector<std::string> names;
  for (const auto& [kind, units] :
       kinds_to_measure(program, make_routing("uniform", program, program.groups, 0))) {
    EXPECT_GE(units, 0) << kind;
    names.push_back(kind);
  }
  return names;
}

TEST(KindsToMeasure, AreOpsAndCollectivesByTheLinkThatTheyCross) {
  const auto kinds = kinds_of(program_of("ep=4"));
  EXPECT_THAT(kinds, IsSupersetOf({"linear", "all_to_all/inter_node", "all_reduce/inter_node"}));
  EXPECT_THAT(kinds, Not(Contains("all_to_all/intra_node")));
  const auto on_two_nodes = kinds_of(program_of("dp=2,ep=2", {0, 0, 1, 1}));
  EXPECT_THAT(on_two_nodes, Contains("all_to_all/intra_node"));
  EXPECT_THAT(on_two_nodes, Not(Contains("all_to_all/inter_node")));
  EXPECT_THAT(kinds_of(program_of("dp=4,ep=1")), Not(Contains("all_to_all/inter_node")))
      << "a group of one rank exchanges nothing";
}

TEST(KindsToMeasure, OfStagesAreWhatTheySend) {
  const auto one = kinds_of(program_of("ep=4")), stages = kinds_of(program_of("ep=2,pp=2"));
  std::vector<std::string> more;
  std::ranges::set_difference(stages, one, std::back_inserter(more));
  EXPECT_THAT(more, Contains(::testing::EndsWith("/inter_node")));
}

TEST(ProfiledLayouts, TheFirstThatExchangesRowsIsProfiledInWhole) {
  const moe::Program copies = program_of("dp=4,ep=1"), some = program_of("dp=2,ep=2"),
                     all = program_of("ep=4");
  EXPECT_EQ(profiled_in_whole(std::vector{&copies, &some, &all}), 1u);
  EXPECT_EQ(profiled_in_whole(std::vector{&all, &copies}), 0u);
  EXPECT_EQ(profiled_in_whole(std::vector{&copies}), 0u) << "none exchanges rows";
}

TEST(ProfiledLayouts, TheNextLacksMostKinds) {
  const Kinds known{{"a", 1}, {"b", 1}};
  const std::vector<Kinds> kinds{known, {{"a", 1}, {"c", 1}}, {{"c", 1}, {"d", 1}}, {{"e", 1}}};
  EXPECT_EQ(next_to_profile(kinds, known), 2u);
  EXPECT_EQ(next_to_profile(kinds, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}), 3u);
  EXPECT_EQ(next_to_profile(kinds, {{"a", 1}, {"d", 1}, {"e", 1}}), 0u) << "the first of equals";
  EXPECT_FALSE(next_to_profile(kinds, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}}));
  EXPECT_FALSE(next_to_profile({}, {}));
}

TEST(ProfiledLayouts, FarLargerOpsLackToo) {
  Kinds known{{"a", 10}, {"b", 10}};
  EXPECT_THAT(lacking_kinds({{"a", 20}, {"b", 21}}, known), ::testing::ElementsAre("b"));
  const std::vector<Kinds> kinds{known, {{"a", 30}}, {{"a", 60}}};
  EXPECT_EQ(next_to_profile(kinds, known), 2u) << "the largest serves the smaller one too";
  add_kinds(kinds[2], known);
  EXPECT_FALSE(next_to_profile(kinds, known));
}

TEST(ProfiledLayouts, GradientsOfExpertsAreLargerWhereEachRankHasAll) {
  const auto of = [](const char* layout) {
    const moe::Program program = program_of(layout);
    return kinds_to_measure(program, make_routing("uniform", program, program.groups, 0));
  };
  EXPECT_THAT(lacking_kinds(of("dp=4,ep=1"), of("ep=4")), Contains("all_reduce/inter_node"));
}

}  // namespace
}  // namespace tuner::profiled_layouts_test
