#include "tuner/planners/pro_prophet/replicated_loads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/planners/drawn_rows.h"

namespace tuner {
namespace {

TEST(ReplicatedLoads, AreThoseWorkedOutFromScratch) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const moe::Layout layout{1 + static_cast<int>(random() % 2), 1 + static_cast<int>(random() % 5),
                             1 + static_cast<int>(random() % 2)};
    const moe::Groups groups = moe::make_groups(layout);
    const int experts = layout.expert * (1 + static_cast<int>(random() % 3));
    const auto routing = test::draw_rows(random, moe::stage_ranks(groups), experts);
    moe::ExpertPlacement placement = test::draw_placement(random, experts, layout.expert);
    placement.rows_of_others = moe::RowsOfOthers::home;
    const GroupedRows rows = grouped_rows(routing, groups);
    ReplicatedLoads loads(rows);
    for (const moe::ReplicatedExpert& replica : placement.replicas) {
      loads.replicate(replica.expert, replica.holders);
    }
    const PlacedLoads scratch = placed_loads(routing, groups, placement);
    EXPECT_EQ(loads.most_received(), std::ranges::max(scratch.received));
    EXPECT_EQ(loads.most_computed(), std::ranges::max(scratch.computed));
    EXPECT_EQ(loads.least_computed(), std::ranges::min(scratch.computed));
  }
}

}  // namespace
}  // namespace tuner
