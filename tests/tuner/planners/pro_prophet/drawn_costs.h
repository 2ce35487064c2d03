#pragma once

#include <numeric>
#include <random>
#include <vector>

#include "tuner/planners/placement/pro_prophet_equations.h"

namespace tuner::test {

/// [device]: a node for each.
inline std::vector<int> nodes_apart(int devices) {
  std::vector<int> nodes(static_cast<std::size_t>(devices));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// The same cost of an expert on either route between nodes, but for what a ring takes to fill.
inline void set_transfers(ProProphetCosts& costs, const TransferCost::OnLink& trans,
                          const TransferCost::OnLink& agg, double pass_s) {
  for (RouteCost& route : costs.routes) {
    route.trans.across = trans;
    route.agg.across = agg;
  }
  RouteCost& ring = costs.routes[static_cast<std::size_t>(moe::ExpertRoute::ring)];
  ring.trans.across.pass_s = ring.agg.across.pass_s = pass_s;
}

/// Costs with which it may pay to send an expert with tens of rows, or none with hundreds.
inline ProProphetCosts draw_costs(std::mt19937& random, int devices) {
  const auto up_to = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  ProProphetCosts costs{{up_to(10), up_to(1)}, {up_to(10), up_to(1)}};
  const double startup_s = up_to(10), each_s = up_to(60), aggregate = up_to(2);
  set_transfers(costs, {startup_s, 0, each_s}, {aggregate * startup_s, 0, aggregate * each_s},
                up_to(30));
  costs.places.node_of = nodes_apart(devices);
  costs.fnec_s = up_to(200);
  costs.bnec_s = 2 * costs.fnec_s;
  return costs;
}

}  // namespace tuner::test
