#pragma once

#include <random>

#include "moe/program/expert_placement.h"
#include "moe/program/routing.h"
#include "tuner/planners/placed_loads.h"

/// Loads and placements at random.
namespace tuner::test {

/// Some experts far more popular than others, and with every source some of its own.
inline moe::LayerRouting draw_rows(std::mt19937& random, int sources, int experts) {
  moe::LayerRouting routing{0, experts, {}, 0};
  std::vector<std::int64_t> popular;
  for (int expert = 0; expert < experts; ++expert) {
    popular.push_back(
        1 + static_cast<std::int64_t>(random() % 4 == 0 ? random() % 400 : random() % 40));
  }
  for (int source = 0; source < sources; ++source) {
    auto& row = routing.tokens.emplace_back();
    for (const std::int64_t most : popular) {
      row.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * most)));
    }
  }
  return routing;
}

inline moe::ExpertPlacement draw_placement(std::mt19937& random, int experts, int members) {
  moe::ExpertPlacement placement;
  if (random() % 2 == 0) placement.rows_of_others = moe::RowsOfOthers::spread;
  for (int expert = 0; expert < experts; ++expert) {
    moe::ReplicatedExpert replica{expert, {}};
    for (int member = 0; member < members; ++member) {
      if (member != home_of(expert, experts, members) && random() % 3 == 0) {
        replica.holders.push_back(member);
      }
    }
    if (!replica.holders.empty()) placement.replicas.push_back(std::move(replica));
  }
  return placement;
}

}  // namespace tuner::test
