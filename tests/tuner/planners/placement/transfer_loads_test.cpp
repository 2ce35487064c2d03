#include "tuner/planners/placement/transfer_loads.h"

#include <gtest/gtest.h>

#include <vector>

namespace tuner::transfer_loads_test {
namespace {

using enum moe::ExpertRoute;

/// Two nodes of two members.
const DevicePlaces kNodes{.node_of = {0, 0, 1, 1}};

/// A second for a start across nodes, a tenth inside; 10 and 2 for an expert at a member, 7 at a
/// card; 0.5 and 0.1 for a fragment on a ring.
const TransferCost kCost{{1, 0.5, 10}, {0.1, 0.1, 2}, 7};

double seconds_of(moe::ExpertRoute route, int home, const std::vector<int>& holders) {
  TransferLoads loads(kNodes, route);
  loads.send(home, holders);
  return loads.seconds(kCost);
}

TEST(TransferLoads, CountExpertsAtMembersAndCards) {
  EXPECT_EQ(TransferLoads(kNodes, unicast).seconds(kCost), 0);
  EXPECT_DOUBLE_EQ(seconds_of(unicast, 0, {1}), 0.1 + 2);
  EXPECT_DOUBLE_EQ(seconds_of(unicast, 0, {2}), 1 + 10);
  EXPECT_DOUBLE_EQ(seconds_of(unicast, 0, {1, 2, 3}), 1 + 20) << "two leave the node from member 0";
  // 0 to 1, to 2 on the other node, to 3. The fragment that crosses is the slowest, two come more.
  EXPECT_DOUBLE_EQ(seconds_of(ring, 0, {3, 1, 2}), 1 + 10 + 2 * 0.1);
  EXPECT_DOUBLE_EQ(seconds_of(ring, 0, {1}), seconds_of(unicast, 0, {1}));
  // 1 to 2, to 3, and back to 0: two hops cross.
  EXPECT_DOUBLE_EQ(seconds_of(ring, 1, {0, 2, 3}), 1 + 10 + 0.5 + 0.1);
}

TEST(TransferLoads, OfSeveralExpertsTakeAsLongAsTheBusiestLink) {
  TransferLoads both(kNodes, unicast);
  both.send(0, std::vector{2});
  both.send(1, std::vector{3});
  EXPECT_DOUBLE_EQ(both.seconds(kCost), 1 + 14) << "the card that members 0 and 1 share";
  const DevicePlaces with_cards{.node_of = {0, 0, 1, 1}, .card_of = {0, 1, 2, 3}};
  TransferLoads own_cards(with_cards, unicast);
  own_cards.send(0, std::vector{2});
  own_cards.send(1, std::vector{3});
  EXPECT_DOUBLE_EQ(own_cards.seconds(kCost), 1 + 10) << "cards of their own carry one each";
  both.send(2, std::vector{0});
  EXPECT_DOUBLE_EQ(both.seconds(kCost), 1 + 14) << "the other direction";
}

TEST(TransferLoads, CountExpertsAtTheUplinksOfBlocksAndAtRelays) {
  TransferCost cost = kCost;
  cost.levels = {{0.5, 30}};
  DevicePlaces places{.node_of = {0, 0, 1, 1}, .card_of = {0, 1, 2, 3}, .block_of = {{0, 1, 0, 1}}};
  const auto seconds = [&](const std::vector<int>& holders) {
    TransferLoads loads(places, unicast);
    loads.send(0, holders);
    return loads.seconds(cost);
  };
  EXPECT_DOUBLE_EQ(seconds({2}), 1 + 10) << "on its rail";
  EXPECT_DOUBLE_EQ(seconds({3}), 1 + 0.5 + 30) << "into the other rail";
  places.sender = {{0, 0, 0, 1}, {0, 1, 0, 1}, {2, 2, 2, 3}, {2, 3, 2, 3}};
  EXPECT_DOUBLE_EQ(seconds({3}), 1 + 10) << "through member 1, on its rail";
  cost.within.expert_s = 25;
  EXPECT_DOUBLE_EQ(seconds({3}), 1 + 25) << "to member 1";
}

TEST(TransferLoads, TheCheapestRouteIsUnicastWhereARingSavesNothing) {
  ProProphetCosts costs;
  for (RouteCost& route : costs.routes) route = {kCost, kCost};
  costs.places = kNodes;
  const std::vector<int> homes{0, 1, 2, 3};
  EXPECT_EQ(cheapest_route(costs, {{{0, {2}}}}, homes), unicast);
  EXPECT_EQ(cheapest_route(costs, {{{0, {1, 2, 3}}}}, homes), ring);
  EXPECT_EQ(cheapest_route(costs, {}, homes), unicast);
}

}  // namespace
}  // namespace tuner::transfer_loads_test
