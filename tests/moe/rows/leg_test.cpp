#include "moe/rows/leg.h"

#include <gtest/gtest.h>

namespace moe::leg_test {
namespace {

// The number of messages. tests/moe/passes/exchange_test.cpp shows that rows arrive.

constexpr std::array kRelays{Rows::relayed, Rows::leader_sent, Rows::leader_received};

/// The row layout of one of 8 ranks on two nodes, where every rank sends 5 rows to each of 16
/// experts.
RowLayout layout_of(int rank, std::vector<Slice> cuts = {{0, 1}, {1, 1}}) {
  return make_row_layout(uniform_routing(1, 8, 16, 80), make_groups(8, 8, {0, 0, 0, 0, 1, 1, 1, 1}),
                         rank, std::move(cuts), kRelays);
}

std::vector<Segment> to_peer(std::vector<Segment> segments, int peer) {
  std::erase_if(segments, [&](const Segment& segment) { return segment.peer != peer; });
  return segments;
}

TEST(Leg, BetweenNodesARelaySendsTheRowsOfItsWholeNodeForAnExpertAtOnce) {
  const auto flat = leg_sends(layout_of(1), {}, Rows::sent, Rows::received, GroupKind::expert);
  EXPECT_EQ(to_peer(flat, 5).size(), 2u) << "to each of the 4 ranks there";
  const auto across =
      leg_sends(layout_of(1), {}, Rows::relayed, Rows::received, GroupKind::expert_across);
  const auto to_other_node = to_peer(across, 1);
  ASSERT_EQ(to_other_node.size(), 2u) << "one an expert of the one rank that it sends to";
  EXPECT_EQ(to_other_node[0].rows, 4 * 5);
  const auto home =
      leg_receives(layout_of(1), {}, Rows::received, Rows::relayed, GroupKind::expert_across);
  EXPECT_EQ(to_peer(home, 1).size(), 2u);
}

TEST(Leg, AFirstRankHandsARankItsRowsInOneMessageWhereNothingIsCut) {
  const auto whole =
      leg_sends(layout_of(0), {}, Rows::leader_received, Rows::received, GroupKind::expert_node);
  ASSERT_EQ(to_peer(whole, 3).size(), 1u);
  EXPECT_EQ(to_peer(whole, 3)[0].rows, 2 * 8 * 5);
  const auto half = leg_sends(layout_of(0, {{0, 1}, {1, 2}, {1, 1}}), {1, 2}, Rows::leader_received,
                              Rows::received, GroupKind::expert_node);
  EXPECT_EQ(to_peer(half, 3).size(), 2u) << "the halves of its two experts are apart";
}

TEST(Leg, OtherRanksThanTheFirstHaveNothingAtTheFirst) {
  EXPECT_EQ(relayed_rows(layout_of(3), Rows::leader_sent, {}), 0);
  EXPECT_EQ(relayed_rows(layout_of(3), Rows::leader_received, {}), 0);
  EXPECT_EQ(relayed_rows(layout_of(4), Rows::leader_sent, {}), 4 * 80);
  EXPECT_EQ(relayed_rows(layout_of(4), Rows::leader_received, {}), 8 * 8 * 5);
  EXPECT_EQ(relayed_rows(layout_of(3), Rows::relayed, {}), 4 * 4 * 5);
  EXPECT_TRUE(leg_sends(layout_of(3), {}, Rows::leader_sent, Rows::leader_received,
                        GroupKind::expert_leaders)
                  .empty());
}

TEST(Leg, RefusesRowsThatNoLegBeginsWith) {
  EXPECT_THROW(leg_sends(layout_of(0), {}, Rows::gathered, Rows::received, GroupKind::expert),
               std::logic_error);
}

}  // namespace
}  // namespace moe::leg_test
