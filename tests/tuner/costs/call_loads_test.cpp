#include "tuner/costs/call_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tuner::call_loads_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

/// Ranks 0, 1, 2 and 4, 5 of a call on two nodes of three ranks; the ranks of a node share a card.
const moe::Groups kTwoNodes = moe::make_groups(6, 6, {0, 0, 0, 1, 1, 1});

GroupCall call_of(std::vector<Transfer> transfers) {
  GroupCall call;
  call.ranks = {0, 1, 2, 4, 5};
  call.transfers = std::move(transfers);
  return call;
}

TEST(CallLoads, FindAMemberByItsRank) {
  const GroupCall call = call_of({});
  EXPECT_EQ(member_index(call, 0), 0);
  EXPECT_EQ(member_index(call, 4), 3);
  EXPECT_EQ(member_index(call, 5), 4);
}

TEST(CallLoads, TellTransfersInsideANodeFromThoseBetweenNodes) {
  const std::vector<int> members{0, 1, 2, 4, 5};
  const Transfer within = transfer_between(kTwoNodes, members, 0, 2, 7);
  EXPECT_FALSE(within.between_nodes);
  EXPECT_EQ(within.relay, -1);
  const Transfer between = transfer_between(kTwoNodes, members, 2, 5, 7);
  EXPECT_TRUE(between.between_nodes);
  EXPECT_EQ(between.bytes, 7);
}

TEST(CallLoads, AddTheBytesOfTransfersToCardsAndRanks) {
  const GroupCall call = call_of({{.from = 0, .to = 1, .bytes = 3},
                                  {.from = 1, .to = 4, .bytes = 5, .between_nodes = true},
                                  {.from = 5, .to = 2, .bytes = 11, .between_nodes = true}});
  LinkLoads loads = link_loads(call, kTwoNodes);
  EXPECT_THAT(loads.card_out, ElementsAre(5, 11));
  EXPECT_THAT(loads.card_in, ElementsAre(11, 5));
  EXPECT_THAT(loads.rank_out, ElementsAre(3, 0, 0, 0, 0, 0));
  EXPECT_THAT(loads.rank_in, ElementsAre(0, 3, 0, 0, 0, 0));
  add_link_loads(call, kTwoNodes, loads);
  EXPECT_THAT(loads.card_out, ElementsAre(10, 22)) << "of two calls at a time";
}

TEST(CallLoads, PassBytesOnWithinTheNodeToTheRankByWhoseCardTheyLeave) {
  const GroupCall call =
      call_of({{.from = 0, .to = 4, .bytes = 5, .between_nodes = true, .relay = 1}});
  const LinkLoads loads = link_loads(call, kTwoNodes);
  EXPECT_THAT(loads.card_out, ElementsAre(5, 0));
  EXPECT_THAT(loads.rank_out, ElementsAre(5, 0, 0, 0, 0, 0));
  EXPECT_THAT(loads.rank_in, ElementsAre(0, 5, 0, 0, 0, 0));
  PairLoads pairs;
  add_pair_loads(call, kTwoNodes, pairs);
  EXPECT_THAT(pairs, ElementsAre(Pair(Pair(0, 1), 5)));
  const std::vector<RankBytes> bytes = member_bytes(call);
  EXPECT_EQ(bytes[0].for_other_nodes(), 5);
  EXPECT_EQ(bytes[1].for_other_nodes(), 0) << "they are not its own";
}

TEST(CallLoads, ShareTheBytesOfARankOutOverTheOthersOfItsNode) {
  GroupCall call = call_of({});
  call.bytes.resize(call.ranks.size());
  call.bytes[0].out_within = 6;
  call.bytes[4].in_within = 4;
  call.by_source = true;
  PairLoads sent;
  add_pair_loads(call, kTwoNodes, sent);
  EXPECT_EQ((sent[{0, 1}]), 3);
  EXPECT_EQ((sent[{0, 2}]), 3);
  EXPECT_EQ((sent[{4, 5}]), 0);
  call.by_source = false;
  PairLoads received;
  add_pair_loads(call, kTwoNodes, received);
  EXPECT_EQ((received[{4, 5}]), 4);
  EXPECT_EQ((received[{0, 1}]), 0);
}

}  // namespace
}  // namespace tuner::call_loads_test
