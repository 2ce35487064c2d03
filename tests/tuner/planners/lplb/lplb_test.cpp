#include "tuner/planners/lplb/lplb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "moe/rows/balance.h"
#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/placement/placed_schedule.h"

namespace tuner::lplb_test {
namespace {

using test::SkewedSituation;
using ::testing::ElementsAre;

std::int64_t fullest(const moe::LayerRouting& routing, const moe::Groups& groups,
                     const moe::ExpertPlacement& placement) {
  return std::ranges::max(moe::rank_tokens(routing, groups, placement));
}

TEST(Lplb, JoinsRanksByARingAndByACube) {
  EXPECT_THAT(ring_owners(4, 1),
              ElementsAre(ElementsAre(3), ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(ring_owners(3, 5)[0], ElementsAre(2, 1)) << "no more than there are others";
  EXPECT_TRUE(cube_owners(12).empty());
  const ReplicaOwners cube = cube_owners(16);
  EXPECT_THAT(cube[0], ElementsAre(3, 6));
  EXPECT_THAT(cube[15], ElementsAre(8 + 6, 8 + 3));
  for (const int slot : {0, 1}) {
    std::set<int> owners;
    for (const auto& of_member : cube) owners.insert(of_member[slot]);
    EXPECT_EQ(owners.size(), cube.size()) << "every rank has one replica of each place";
  }
}

TEST(Lplb, PutsTheHeaviestExpertOfARankOnTheNextAndSharesItsRows) {
  const moe::LayerRouting routing{0,
                                  8,
                                  {{40, 22, 6, 10, 3, 8, 9, 2},
                                   {44, 18, 10, 6, 2, 9, 8, 3},
                                   {36, 26, 9, 7, 1, 11, 6, 4},
                                   {40, 24, 7, 9, 2, 8, 7, 3}}};
  const moe::Groups groups = moe::make_groups(4, 4);
  const moe::ExpertPlacement placement =
      lplb_placement(grouped_rows(routing, groups), ring_owners(4, 1));
  const std::vector<moe::ReplicatedExpert> expected{{0, {1}}, {2, {2}}, {5, {3}}, {6, {0}}};
  EXPECT_EQ(placement.replicas, expected);
  EXPECT_EQ(fullest(routing, groups, {}), 250);
  EXPECT_EQ(fullest(routing, groups, placement), 141);
}

TEST(Lplb, LowersTheLargestLoadOfEveryLayer) {
  for (const moe::Layout& layout :
       {moe::Layout{1, 4, 1}, moe::Layout{2, 2, 1}, moe::Layout{1, 2, 2}}) {
    const SkewedSituation skewed(layout);
    std::vector<Candidate> candidates = lplb_candidates(skewed.situation, {});
    const PlannerRequest released = parse_planner("lplb:released=1");
    std::ranges::copy(lplb_candidates(skewed.situation, released.options),
                      std::back_inserter(candidates));
    for (const Candidate& candidate : candidates) {
      for (const moe::LayerRouting& routing : skewed.routing.layers) {
        const moe::ExpertPlacement placement = placement_of(candidate.schedule, routing.layer);
        EXPECT_LT(fullest(routing, skewed.groups, placement), fullest(routing, skewed.groups, {}));
      }
    }
  }
}

TEST(Lplb, SharesRowsOutByFiveStepsAsReleased) {
  const SkewedSituation skewed;
  for (const char* planner : {"lplb", "lplb:released=1"}) {
    const PlannerRequest asked = parse_planner(planner);
    for (const Candidate& one : lplb_candidates(skewed.situation, asked.options)) {
      for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(one.schedule)) {
        EXPECT_EQ(decision.placement.balanced_by == moe::BalancedBy::interior_point,
                  !asked.options.asked.empty());
      }
    }
  }
}

}  // namespace
}  // namespace tuner::lplb_test
