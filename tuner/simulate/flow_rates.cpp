#include "tuner/simulate/flow_rates.h"

#include <algorithm>
#include <array>
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
  std::vector<int> first_uplink;
  for (std::size_t level = 0; level < groups.levels.size(); ++level) {
    first_uplink.push_back(static_cast<int>(capacities.size()));
    capacities.insert(capacities.end(),
                      2 * static_cast<std::size_t>(moe::block_count(groups.levels[level])),
                      cluster.levels[level].uplink.bandwidth_bytes_per_s);
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
  const auto link_from = [&](int from, int to) {
    if (!cluster.mesh) return 2 * cards + 2 * from;
    const auto [found, is_new] =
        link_of_pair.try_emplace({from, to}, static_cast<int>(capacities.size()));
    if (is_new) capacities.push_back(bytes_per_s_of_pair(cluster));
    return found->second;
  };
  const auto link_into = [&](int to) { return 2 * cards + 2 * to + 1; };
  std::vector<Path> paths;
  paths.reserve(flows.size());
  for (const Flow& flow : flows) {
    const int first = links_of_call(flow);
    const int in = first + 4 * flow.to_member + 2;
    if (!flow.between_nodes) {
      const int out = first + 4 * flow.from_member;
      paths.emplace_back();
      std::ranges::copy(
          std::array{link_from(flow.from, flow.to), link_into(flow.to), out + 1, in + 1},
          paths.back().links.begin());
      continue;
    }
    const int sender = sender_of(flow);
    const int out = first + 4 * (flow.relay < 0 ? flow.from_member : flow.relay_member);
    auto next = paths.emplace_back().links.begin();
    const auto cross = [&](int link) { *next++ = link; };
    cross(2 * moe::network_card(groups, sender));
    cross(2 * moe::network_card(groups, flow.to) + 1);
    cross(out);
    cross(in);
    if (flow.relay >= 0) {
      cross(link_from(flow.from, flow.relay));
      cross(link_into(flow.relay));
    }
    for (int level = 0; level < flow.levels; ++level) {
      const std::vector<int>& block_of = groups.levels[level].block_of;
      cross(first_uplink[level] + 2 * block_of[sender]);
      cross(first_uplink[level] + 2 * block_of[flow.to] + 1);
    }
  }
  return fair_share(paths, capacities);
}

}  // namespace tuner
