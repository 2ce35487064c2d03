#include "tuner/study/profiled_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "moe/model/model.h"

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

TEST(KindsToMeasure, AreOpsAndCollectivesByTheLinkThatTheyCross) {
  const auto kinds = kinds_to_measure(program_of("ep=4"));
  EXPECT_THAT(kinds, IsSupersetOf({"linear", "all_to_all/inter_node", "all_reduce/inter_node"}));
  EXPECT_THAT(kinds, Not(Contains("all_to_all/intra_node")));
  const auto on_two_nodes = kinds_to_measure(program_of("dp=2,ep=2", {0, 0, 1, 1}));
  EXPECT_THAT(on_two_nodes, Contains("all_to_all/intra_node"));
  EXPECT_THAT(on_two_nodes, Not(Contains("all_to_all/inter_node")));
  EXPECT_THAT(kinds_to_measure(program_of("dp=4,ep=1")), Not(Contains("all_to_all/inter_node")))
      << "a group of one rank exchanges nothing";
}

TEST(KindsToMeasure, OfStagesAreWhatTheySend) {
  const auto one = kinds_to_measure(program_of("ep=4")),
             stages = kinds_to_measure(program_of("ep=2,pp=2"));
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

TEST(ProfiledLayouts, TheNextHasMostKindsThatAreNotKnown) {
  const std::vector<std::set<std::string>> kinds{{"a", "b"}, {"a", "c"}, {"a", "c", "d"}, {"e"}};
  EXPECT_EQ(next_to_profile(kinds, {"a", "b"}), 2u);
  EXPECT_EQ(next_to_profile(kinds, {"a", "b", "c", "d"}), 3u);
  EXPECT_EQ(next_to_profile(kinds, {"a", "d", "e"}), 0u) << "the first of equals";
  EXPECT_FALSE(next_to_profile(kinds, {"a", "b", "c", "d", "e"}));
  EXPECT_FALSE(next_to_profile({}, {}));
}

}  // namespace
}  // namespace tuner::profiled_layouts_test
