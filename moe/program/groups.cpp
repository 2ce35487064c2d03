#include "moe/program/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace moe {

Groups make_groups(int ranks, int expert_ranks, std::vector<int> node_of) {
  if (ranks < 1 || expert_ranks < 1 || ranks % expert_ranks != 0)
    throw std::invalid_argument(fmt::format(
        "groups: {} ranks do not divide into expert groups of {}: expected a divisor of "
        "{} (--expert-ranks)",
        ranks, expert_ranks, ranks));
  if (node_of.empty()) node_of.assign(ranks, 0);
  if (static_cast<int>(node_of.size()) != ranks)
    throw std::invalid_argument(
        fmt::format("groups: nodes of {} ranks given, there are {} ranks", node_of.size(), ranks));
  return {ranks, expert_ranks, std::move(node_of)};
}

int group_size(const Groups& groups, GroupKind kind) {
  switch (kind) {
    case GroupKind::world:
      return groups.ranks;
    case GroupKind::expert:
      return groups.expert_ranks;
    case GroupKind::expert_data:
      return groups.ranks / groups.expert_ranks;
  }
  throw std::logic_error("group_size: no such group");
}

std::vector<int> members(const Groups& groups, GroupKind kind, int rank) {
  std::vector<int> result;
  for (int r = 0; r < groups.ranks; ++r) {
    const bool same_expert_group = r / groups.expert_ranks == rank / groups.expert_ranks;
    const bool same_experts = r % groups.expert_ranks == rank % groups.expert_ranks;
    if (kind == GroupKind::world || (kind == GroupKind::expert && same_expert_group) ||
        (kind == GroupKind::expert_data && same_experts))
      result.push_back(r);
  }
  return result;
}

int index_in_group(const Groups& groups, GroupKind kind, int rank) {
  switch (kind) {
    case GroupKind::world:
      return rank;
    case GroupKind::expert:
      return rank % groups.expert_ranks;
    case GroupKind::expert_data:
      return rank / groups.expert_ranks;
  }
  throw std::logic_error("index_in_group: unknown group kind");
}

}  // namespace moe
