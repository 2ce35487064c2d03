#pragma once

#include <vector>

#include "tuner/costs/op_costs.h"

namespace tuner::test {

/// The costs of every op by rank, where nothing is folded.
inline std::vector<OpCost> single_costs(const moe::Program& program, const moe::Groups& groups,
                                        const moe::Routing& routing, const CostModel& costs,
                                        const Cluster& cluster) {
  return program_costs(program, groups, routing, costs, cluster, kNotFolded).ops;
}

}  // namespace tuner::test
