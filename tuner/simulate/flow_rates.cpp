#include "tuner/simulate/flow_rates.h"

#include <map>
#include <tuple>
#include <utility>

#include "tuner/simulate/fair_share.h"

namespace tuner {

std::vector<double> flow_rates(std::span<const Flow> flows, const std::vector<OpCost>& costs,
                               const moe::Groups& groups, const Cluster& cluster,
                               const std::function<double(int rank, Occupation link)>& speed) {
  const int cards = moe::card_count(groups);
  std::vector<double> capacities;
  for (int card = 0; card < cards; ++card) {
    capacities.push_back(cluster.inter_node.bandwidth_bytes_per_s);
    capacities.push_back(cluster.inter_node.bandwidth_bytes_per_s);
  }
  for (int rank = 0; rank < groups.ranks; ++rank) {
    capacities.push_back(cluster.intra_node.bandwidth_bytes_per_s);
    capacities.push_back(cluster.intra_node.bandwidth_bytes_per_s);
  }
  // Links of each call under way, four by member: out and in, between and within nodes.
  std::vector<std::tuple<int, int, int>> first_link;  // op, call, first link
  const auto links_of_call = [&](const Flow& flow) {
    for (auto it = first_link.rbegin(); it != first_link.rend(); ++it) {
      if (std::get<0>(*it) == flow.op && std::get<1>(*it) == flow.call) return std::get<2>(*it);
    }
    const int first = static_cast<int>(capacities.size());
    first_link.emplace_back(flow.op, flow.call, first);
    const OpCost& cost = costs[flow.op];
    const GroupCall& call = cost.calls[flow.call];
    for (const int rank : call.ranks) {
      const double factor = speed(rank, call.link);
      for (int way = 0; way < 2; ++way) {
        capacities.push_back(cost.inter_node_bytes_per_s * factor);
        capacities.push_back(cost.intra_node_bytes_per_s * factor);
      }
    }
    return first;
  };
  std::map<std::pair<int, int>, int> link_of_pair;  // of a mesh
  const auto from_link = [&](const Flow& flow) {
    if (!cluster.mesh) return 2 * cards + 2 * flow.from;
    const auto [found, is_new] =
        link_of_pair.try_emplace({flow.from, flow.to}, static_cast<int>(capacities.size()));
    if (is_new) capacities.push_back(bytes_per_s_of_pair(cluster));
    return found->second;
  };
  std::vector<Path> paths;
  paths.reserve(flows.size());
  for (const Flow& flow : flows) {
    const int first = links_of_call(flow);
    const int kind = flow.between_nodes ? 0 : 1;
    const int out = first + 4 * flow.from_member + kind;
    const int in = first + 4 * flow.to_member + 2 + kind;
    if (flow.between_nodes) {
      paths.push_back({{2 * moe::network_card(groups, flow.from),
                        2 * moe::network_card(groups, flow.to) + 1, out, in}});
    } else {
      paths.push_back({{from_link(flow), 2 * cards + 2 * flow.to + 1, out, in}});
    }
  }
  return fair_share(paths, capacities);
}

}  // namespace tuner
