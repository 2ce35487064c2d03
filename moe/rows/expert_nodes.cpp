#include "moe/rows/expert_nodes.h"

#include <map>

namespace moe {

ExpertNodes expert_nodes(const Groups& groups, int rank) {
  ExpertNodes result;
  std::map<int, int> number;  // by node of the job
  std::vector<int> with_place;
  const std::vector<int> group = members(groups, GroupKind::expert, rank);
  for (std::size_t member = 0; member < group.size(); ++member) {
    const int where = groups.node_of[group[member]];
    const auto [found, is_new] = number.emplace(where, static_cast<int>(result.members.size()));
    if (is_new) result.members.emplace_back();
    auto& node = result.members[found->second];
    const auto place = node.size();
    if (place == with_place.size()) with_place.push_back(0);
    node.push_back(static_cast<int>(member));
    result.node.push_back(found->second);
    result.place.push_back(static_cast<int>(place));
    result.before.push_back(with_place[place]++);
  }
  return result;
}

}  // namespace moe
