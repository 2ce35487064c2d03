#include "moe/communicator/collectives/group_nodes.h"

#include <algorithm>
#include <map>

namespace moe {

int GroupNodes::fewest() const {
  const auto smallest = std::ranges::min_element(members, {}, &std::vector<int>::size);
  return smallest == members.end() ? 0 : static_cast<int>(smallest->size());
}

bool GroupNodes::share_cards() const { return count() > 1 && members.size() < node.size(); }

GroupNodes group_nodes(std::span<const int> node_of) {
  std::map<int, int> seen;  // number of a node: its place in the order
  GroupNodes nodes;
  for (int member = 0; member < static_cast<int>(node_of.size()); ++member) {
    const int node = seen.emplace(node_of[member], nodes.count()).first->second;
    if (node == nodes.count()) nodes.members.emplace_back();
    nodes.node.push_back(node);
    nodes.place.push_back(static_cast<int>(nodes.members[node].size()));
    nodes.members[node].push_back(member);
  }
  return nodes;
}

}  // namespace moe
