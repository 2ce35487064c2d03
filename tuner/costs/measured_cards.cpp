#include "tuner/costs/measured_cards.h"

#include <map>
#include <numeric>

#include "db/collective_facts.h"
#include "db/network.h"

namespace tuner {

int measured_cards(const std::string& network, int ranks_per_node) {
  return std::gcd(db::cards_per_node(network).value_or(1), ranks_per_node);
}

namespace {

/// Of the fits of rings between nodes that were measured with this machine's ranks.
void count_by_card(const Cluster& cluster, CostModel& costs) {
  const int ranks = cluster.nodes * cluster.ranks_per_node;
  for (const db::CollectiveFacts& one : db::measured_collectives()) {
    const auto found = costs.fits.find(link_key(one.name, "inter_node"));
    if (found == costs.fits.end()) continue;
    const double fewer = *db::link_factor(one.name, ranks, cluster.nodes, true) /
                         *db::link_factor(one.name, ranks, cluster.nodes);
    LinearFit& fit = found->second;
    fit.beta_s_per_unit /= fewer;
    fit.min_units *= fewer;
    fit.max_units *= fewer;
    for (SizeTime& point : fit.points) point.units *= fewer;
  }
}

}  // namespace

void divide_cards(CostedCluster& measured, int cards) {
  Cluster& cluster = measured.cluster;
  if (cluster.cards_per_node == 1 && cards > 1 && cluster.device == "cuda") {
    count_by_card(cluster, measured.costs);
  }
  cluster.inter_node.bandwidth_bytes_per_s *=
      static_cast<double>(cluster.cards_per_node) / static_cast<double>(cards);
  cluster.cards_per_node = cards;
}

void use_cards(moe::Groups& groups, int ranks_per_node, int cards) {
  groups.card_of.clear();
  if (cards == 1) return;
  std::map<int, int> seen;  // ranks of a node
  for (const int node : groups.node_of) {
    const int place = seen[node]++ % ranks_per_node;
    groups.card_of.push_back(node * cards + place * cards / ranks_per_node);
  }
}

}  // namespace tuner
