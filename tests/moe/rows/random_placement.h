#pragma once

#include <algorithm>
#include <random>

#include "moe/rows/expert_slots.h"

namespace moe::test {

/// Experts dealt out at random, as many to each member.
inline ExpertHomes random_homes(std::mt19937& random, int experts, int members) {
  ExpertHomes homes = homes_in_order(experts, members);
  std::shuffle(homes.begin(), homes.end(), random);
  return homes;
}

/// Replicates about one expert in three, at least one, on up to all other members. Needs two
/// members. `homes`: where experts belong; not a part of the placement.
inline ExpertPlacement random_placement(std::mt19937& random, int experts, int members,
                                        ExpertHomes homes = {}) {
  if (homes.empty()) homes = homes_in_order(experts, members);
  ExpertPlacement placement;
  placement.rows_of_others = static_cast<RowsOfOthers>(random() % 3);
  if (random() % 2) placement.route = ExpertRoute::ring;
  while (placement.replicas.empty()) {
    for (int expert = 0; expert < experts; ++expert) {
      if (random() % 3 != 0) continue;
      ReplicatedExpert replica{expert, {}};
      const bool everywhere = random() % 4 == 0;
      for (int member = 0; member < members; ++member) {
        const bool home = homes[static_cast<std::size_t>(expert)] == member;
        if (!home && (everywhere || random() % 2)) replica.holders.push_back(member);
      }
      if (!replica.holders.empty()) placement.replicas.push_back(replica);
    }
  }
  return placement;
}

/// Replicas, or homes, or both, as a row layout takes them.
inline ExpertPlacement random_replicas_and_homes(std::mt19937& random, int experts, int members) {
  const bool with_homes = random() % 2 == 0, with_replicas = !with_homes || random() % 2 == 0;
  const ExpertHomes homes = with_homes ? random_homes(random, experts, members) : ExpertHomes{};
  ExpertPlacement placement;
  if (with_replicas) placement = random_placement(random, experts, members, homes);
  placement.homes = homes;
  return placement;
}

}  // namespace moe::test
