#include "tuner/costs/card_shares.h"

#include <gtest/gtest.h>

namespace tuner::card_shares_test {
namespace {

/// Ranks 0 and 1 on a node, 2 and 3 on another. With `own` cards each has one, else a node has one.
moe::Groups four_ranks(bool own) {
  moe::Groups groups = moe::make_groups(4, 4, {0, 0, 1, 1});
  if (own) groups.card_of = {0, 1, 2, 3};
  return groups;
}

/// Every rank of a node sends `bytes` to each of these of the other one.
GroupCall call_to(const std::vector<int>& receivers, std::int64_t bytes) {
  GroupCall call;
  call.ranks = {0, 1, 2, 3};
  for (const int from : call.ranks) {
    for (const int to : receivers) {
      if (from != to) call.transfers.push_back({from, to, bytes, from / 2 != to / 2});
    }
  }
  return call;
}

TEST(CardShares, OfAnEvenExchangeAreEven) {
  for (const bool own : {true, false}) {
    const CardShares shares = card_shares(call_to({0, 1, 2, 3}, 100), four_ranks(own));
    EXPECT_DOUBLE_EQ(shares.even, 200);
    EXPECT_DOUBLE_EQ(shares.busiest, 200);
  }
}

TEST(CardShares, AreAllOfACardWhereOneOfItsRanksReceives) {
  const GroupCall hot = call_to({0}, 100);
  EXPECT_DOUBLE_EQ(card_shares(hot, four_ranks(true)).most(), 1) << "its own card is full";
  const CardShares shared = card_shares(hot, four_ranks(false));
  EXPECT_DOUBLE_EQ(shared.busiest, 200);
  EXPECT_DOUBLE_EQ(shared.even, 100) << "two ranks would have that";
  EXPECT_DOUBLE_EQ(shared.most(), 2);
}

TEST(CardShares, OfSeveralCallsAreThoseOfTheBusiest) {
  const moe::Groups groups = four_ranks(false);
  EXPECT_DOUBLE_EQ(card_shares({call_to({0}, 100), call_to({0, 1, 2, 3}, 100)}, groups).most(), 1);
  EXPECT_DOUBLE_EQ(card_shares({call_to({0}, 100), call_to({0, 1, 2, 3}, 10)}, groups).most(), 2);
  EXPECT_DOUBLE_EQ(card_shares(std::vector<GroupCall>{}, groups).most(), 1);
}

TEST(CardShares, OfOneHotGroupBesideAnEvenOneAreOfTheSameCall) {
  // The hot one has 200 bytes on a rank, its card 100 each; the even one has 150 on each.
  const CardShares shares =
      card_shares({call_to({0}, 100), call_to({0, 1, 2, 3}, 75)}, four_ranks(false));
  EXPECT_DOUBLE_EQ(shares.busiest, 200);
  EXPECT_DOUBLE_EQ(shares.even, 100);
}

TEST(CardShares, CountWhatLeavesByTheCardOfARelay) {
  GroupCall call = call_to({}, 0);
  for (const int to : {2, 3}) {
    call.transfers.push_back({0, to, 100, true});
    if (to == 3) call.transfers.back().relay = 1;
  }
  const CardShares shares = card_shares(call, four_ranks(true));
  EXPECT_DOUBLE_EQ(shares.busiest, 100);
  EXPECT_DOUBLE_EQ(shares.most(), 1);
}

TEST(CardShares, OfBytesByRankAreThoseOfTheirPairs) {
  GroupCall call;
  call.ranks = {0, 1, 2, 3};
  call.bytes = {{100, 200, 0, 0}, {100, 0, 0, 0}, {100, 0, 0, 0}, {100, 0, 0, 0}};
  const CardShares shares = card_shares(call, four_ranks(false));
  EXPECT_DOUBLE_EQ(shares.busiest, 200);
  EXPECT_DOUBLE_EQ(shares.even, 100);
}

}  // namespace
}  // namespace tuner::card_shares_test
