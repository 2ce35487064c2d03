#include "tuner/planners/pro_prophet/replicated_loads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/moe/rows/random_placement.h"
#include "tests/tuner/planners/drawn_rows.h"

namespace tuner::replicated_loads_test {
namespace {

TEST(ReplicatedLoads, AreThoseWorkedOutFromScratch) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const moe::Layout layout{1 + static_cast<int>(random() % 2), 2 + static_cast<int>(random() % 4),
                             1 + static_cast<int>(random() % 2)};
    const moe::Groups groups = moe::make_groups(layout);
    const int experts = layout.expert * (1 + static_cast<int>(random() % 3));
    const auto routing = test::draw_rows(random, moe::stage_ranks(groups), experts);
    moe::ExpertPlacement placement = moe::test::random_placement(random, experts, layout.expert);
    placement.rows_of_others = moe::RowsOfOthers::home;
    const GroupedRows rows = grouped_rows(routing, groups);
    ReplicatedLoads loads(rows);
    for (const moe::ReplicatedExpert& replica : placement.replicas) {
      loads.take(replica.expert, replica.holders);
    }
    const PlacedLoads scratch = placed_loads(routing, groups, placement);
    const ReplicatedLoads::Extremes found = loads.extremes();
    EXPECT_EQ(found.most_received, std::ranges::max(scratch.received));
    EXPECT_EQ(found.most_computed, std::ranges::max(scratch.computed));
    EXPECT_EQ(found.least_computed, std::ranges::min(scratch.computed));
  }
}

TEST(ReplicatedLoads, OfMembersWithoutFurtherExpertsNeverFall) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const int members = 2 + static_cast<int>(random() % 4),
              each = 1 + static_cast<int>(random() % 2);
    const moe::Groups groups = moe::make_groups(2 * members, members);
    const auto routing = test::draw_rows(random, 2 * members, members * each);
    const GroupedRows rows = grouped_rows(routing, groups);
    ReplicatedLoads loads(rows);
    EXPECT_EQ(loads.extremes().settled_received, 0);
    EXPECT_EQ(loads.extremes().settled_computed, 0);
    std::int64_t received = 0, computed = 0;
    for (int expert = members * each - 1; expert >= 0; --expert) {
      std::vector<int> holders;
      for (int member = 0; member < members; ++member) {
        if (member != rows.homes[static_cast<std::size_t>(expert)] && random() % 2 == 0) {
          holders.push_back(member);
        }
      }
      loads.take(expert, holders);
      EXPECT_GE(loads.extremes().settled_received, received);
      EXPECT_GE(loads.extremes().settled_computed, computed);
      received = loads.extremes().settled_received;
      computed = loads.extremes().settled_computed;
    }
    EXPECT_EQ(received, loads.extremes().most_received);
    EXPECT_EQ(computed, loads.extremes().most_computed);
  }
}

}  // namespace
}  // namespace tuner::replicated_loads_test
