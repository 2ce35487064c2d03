#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "tuner/simulate/flow.h"
#include "tuner/simulate/shared_links.h"

namespace tuner::test {

/// The rates of shared_links.h, of transfers that are all listed, in their order and without any
/// haste: in each round the link with the least left for each transfer that still rises is full.
inline std::vector<double> listed_rates(std::span<const Flow> flows,
                                        const std::vector<OpCost>& costs, const moe::Groups& groups,
                                        const Cluster& cluster, const SharedLinks::Speed& speed) {
  struct Link {
    double left = 0;
    double rising = 0;
    std::vector<std::size_t> flows{};
  };
  std::map<std::array<int, 5>, Link> links;
  std::vector<std::vector<std::pair<Link*, double>>> crossed(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    const OpCost& cost = costs[flow.op];
    const bool between = flow.between_nodes;
    const auto cross = [&](const std::array<int, 5>& name, double capacity, double count) {
      Link& link = links.try_emplace(name, Link{capacity}).first->second;
      link.rising += count;
      link.flows.push_back(i);
      crossed[i].emplace_back(&link, count);
    };
    for (const bool out : {true, false}) {
      const int rank = out ? flow.from : flow.to;
      const double count = out ? flow.out : flow.in;
      const double of_call = between ? cost.inter_node_bytes_per_s : cost.intra_node_bytes_per_s;
      cross({-1, 0, between, out, between ? groups.node_of[rank] : rank},
            (between ? cluster.inter_node : cluster.intra_node).bandwidth_bytes_per_s, count);
      cross({flow.op, flow.call, between, out, rank},
            of_call * speed(rank, cost.calls[flow.call].link), count);
    }
  }
  std::vector<double> rates(flows.size(), -1);
  constexpr double kNone = 1e-9;  // counts may be fractions
  while (std::ranges::count(rates, -1) > 0) {
    const Link* fullest = nullptr;
    const auto level = [](const Link& link) { return std::max(link.left, 0.0) / link.rising; };
    for (const auto& [name, link] : links) {
      if (link.rising < kNone) continue;
      if (fullest == nullptr || level(link) < level(*fullest)) fullest = &link;
    }
    const double rate = level(*fullest);
    for (const std::size_t i : fullest->flows) {
      if (rates[i] >= 0) continue;
      rates[i] = rate;
      for (const auto& [link, count] : crossed[i]) {
        link->left -= count * rate;
        link->rising -= count;
      }
    }
  }
  return rates;
}

}  // namespace tuner::test
