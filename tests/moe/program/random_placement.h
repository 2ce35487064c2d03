#pragma once

#include <random>

#include "moe/program/expert_placement.h"

namespace moe::testing {

/// About one expert in three is replicated, on up to all other members; at least one is. Needs two members.
inline ExpertPlacement random_placement(std::mt19937& random, int experts, int members) {
  ExpertPlacement placement;
  if (random() % 2) placement.rows_of_others = RowsOfOthers::spread;
  while (placement.replicas.empty()) {
    for (int expert = 0; expert < experts; ++expert) {
      if (random() % 3 != 0) continue;
      ReplicatedExpert replica{expert, {}};
      const bool everywhere = random() % 4 == 0;
      for (int member = 0; member < members; ++member) {
        const bool home = expert / (experts / members) == member;
        if (!home && (everywhere || random() % 2)) replica.holders.push_back(member);
      }
      if (!replica.holders.empty()) placement.replicas.push_back(replica);
    }
  }
  return placement;
}

}  // namespace moe::testing
