#pragma once

#include <span>
#include <vector>

namespace moe {

/// The members of a group by the node that they run on. Collectives whose ranks share network cards
/// send as little as possible through them.
struct GroupNodes {
  std::vector<std::vector<int>> members;  ///< by node: its members of the group, ascending
  std::vector<int> node;                  ///< by member: the node that it runs on
  std::vector<int> place;                 ///< by member: its index among those of its node

  int count() const { return static_cast<int>(members.size()); }
  /// Members of the smallest node. So many members of each node can share work evenly.
  int fewest() const;
  /// Whether there are several nodes and one of them has several members.
  bool share_cards() const;
};

/// `node_of`: a number for each member, equal for members of one node. Nodes are put in the order
/// of their first members.
GroupNodes group_nodes(std::span<const int> node_of);

}  // namespace moe
