#pragma once

#include "moe/rows/balance.h"
#include "moe/rows/expert_placement.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace tuner::test {

/// RB, Pro-Prophet's balance degree: the standard deviation of computed rows before the placement
/// over that after it [Pro-Prophet VI-C, printed]. 1 where nothing is replicated and all experts
/// are at home in order.
inline double balance_ratio(const moe::LayerRouting& routing, const moe::Groups& groups,
                            const moe::ExpertPlacement& placement) {
  const db::Balance balance = moe::balance_of(
      routing, groups, {}, moe::placed_tokens({{routing}}, routing.layer, groups, placement));
  if (!balance.placed_rank_standard_deviation) return 1;
  return *balance.rank_standard_deviation / *balance.placed_rank_standard_deviation;
}

}  // namespace tuner::test
