#pragma once

#include <vector>

#include "moe/rows/groups.h"

namespace moe {

/// The nodes of the members of an expert group. Nodes are numbered in the order of their first
/// members, places within a node in the order of ranks.
struct ExpertNodes {
  std::vector<std::vector<int>> members;  ///< [node][place]: index in the expert group, ascending
  // By member:
  std::vector<int> node;
  std::vector<int> place;
  std::vector<int> before;  ///< the number of members of smaller index that have the same place
};

/// The nodes of the expert group that `rank` belongs to.
ExpertNodes expert_nodes(const Groups& groups, int rank);

}  // namespace moe
