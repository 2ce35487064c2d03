#include "moe/rows/expert_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "moe/errors.h"

namespace moe::expert_moves_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::array<int, 4>> listed(const std::vector<ExpertMove>& moves) {
  std::vector<std::array<int, 4>> all;
  for (const ExpertMove& move : moves) {
    all.push_back({move.from, move.block, move.to, move.to_block});
  }
  return all;
}
using Move = std::array<int, 4>;

/// 8 experts of 4 members: 2 on 3; 3 on 0 and 2; 6 on 0.
const ExpertSlots kSlots = expert_slots({{{2, {3}}, {3, {0, 2}}, {6, {0}}}}, 8, 4);

TEST(ExpertMoves, ParametersGoFromTheBlockOfTheExpertToTheBlockOfTheReplica) {
  EXPECT_THAT(listed(moves_to_replicas(kSlots)),
              ElementsAre(Move{1, 0, 3, 0}, Move{1, 1, 0, 0}, Move{1, 1, 2, 0}, Move{3, 0, 0, 1}));
}

TEST(ExpertMoves, EveryGradientComesHomeToABlockOfItsOwn) {
  EXPECT_THAT(listed(moves_home(kSlots)),
              ElementsAre(Move{3, 0, 1, 0}, Move{0, 0, 1, 1}, Move{2, 0, 1, 2}, Move{0, 1, 3, 0}));
  EXPECT_EQ(most_returned(kSlots), 3);
  EXPECT_THAT(returned_to(kSlots, 1), ElementsAre(0, 1, 1));
  EXPECT_THAT(returned_to(kSlots, 3), ElementsAre(0));
  EXPECT_THAT(returned_to(kSlots, 0), IsEmpty());
}

TEST(ExpertMoves, OnARingGoFromTheHomeThroughTheHoldersThatFollowIt) {
  ExpertSlots rings = kSlots;
  rings.route = ExpertRoute::ring;
  // The ring of 3, at home on 1, goes on to 2 and from there to 0.
  const auto there = moves_to_replicas(rings), back = moves_home(rings);
  EXPECT_THAT(listed(there),
              ElementsAre(Move{1, 0, 3, 0}, Move{1, 1, 2, 0}, Move{2, 0, 0, 0}, Move{3, 0, 0, 1}));
  // 0 sends its gradient of 3 to 2, which adds it to its own; 1 gets one sum for each expert.
  EXPECT_THAT(listed(back),
              ElementsAre(Move{3, 0, 1, 0}, Move{2, 0, 1, 1}, Move{0, 0, 2, 0}, Move{0, 1, 3, 0}));
  for (const auto* moves : {&there, &back}) {
    std::vector<int> hops;
    for (const ExpertMove& move : *moves) hops.push_back(move.hop);
    EXPECT_THAT(hops, ElementsAre(0, 0, 1, 0));
  }
  EXPECT_EQ(most_returned(rings), 2);
  EXPECT_THAT(returned_to(rings, 1), ElementsAre(0, 1));
  EXPECT_THAT(returned_to(rings, 3), ElementsAre(0));
  EXPECT_THAT(ring_order(2, {5, 0, 3, 1}), ElementsAre(3, 5, 0, 1));
}

TEST(ExpertMoves, WithoutReplicasAreNone) {
  EXPECT_THAT(moves_to_replicas(expert_slots({}, 8, 4)), IsEmpty());
  EXPECT_EQ(most_returned(expert_slots({}, 8, 4)), 0);
}

TEST(ExpertMoves, BetweenHomesAreOfWhatLiesElsewhereThen) {
  // 0 and 2 change places. On member 0 are 1 2 then, on member 1 0 3: what stays moves up.
  EXPECT_THAT(listed(moves_between_homes({}, {1, 0, 0, 1}, 4, 2)),
              ElementsAre(Move{0, 0, 1, 0}, Move{0, 1, 0, 0}, Move{1, 0, 0, 1}));
  EXPECT_THAT(moves_between_homes({1, 0, 0, 1}, {1, 0, 0, 1}, 4, 2), IsEmpty());
  EXPECT_THROW(moves_between_homes({}, {1, 0, 1, 1}, 4, 2), Refusal);
}

TEST(ExpertMoves, OfReplicasGoFromAndToTheBlocksOfTheirHomes) {
  // Member 0 has 1 2, member 1 has 0 3; 2 on member 1 too.
  const ExpertSlots slots = expert_slots({{{2, {1}}}, RowsOfOthers::home, {1, 0, 0, 1}}, 4, 2);
  EXPECT_THAT(listed(moves_to_replicas(slots)), ElementsAre(Move{0, 1, 1, 0}));
  EXPECT_THAT(listed(moves_home(slots)), ElementsAre(Move{1, 0, 0, 0}));
  EXPECT_THAT(returned_to(slots, 0), ElementsAre(1));
}

TEST(ExpertMoves, SharesOfABlocksRowsMakeAllOfIt) {
  // Block 2 of blocks of 5 rows of 3 columns.
  const ElementRange first = elements_of(5, 3, 2, {0, 2}), second = elements_of(5, 3, 2, {1, 2});
  EXPECT_EQ(first.begin, 30);
  EXPECT_EQ(first.count, 6);
  EXPECT_EQ(second.begin, 36);
  EXPECT_EQ(second.count, 9);
}

}  // namespace
}  // namespace moe::expert_moves_test
