#include "tuner/costs/measured_cards.h"

#include <map>
#include <numeric>

#include "db/collective_facts.h"
#include "db/network.h"

namespace tuner {

int measured_cards(const std::string& network, int ranks_per_node) {
  return std::gcd(db::cards_per_node(network).value_or(1), ranks_per_node);
}

void recount_ring(std::string_view key, const Cluster& cluster, int cards_before, LinearFit& fit) {
  if (cluster.device != "cuda" || cluster.nodes == 1) return;
  const int ranks = cluster.nodes * cluster.ranks_per_node;
  for (const db::CollectiveFacts& one : db::measured_collectives()) {
    if (key != link_key(one.name, "inter_node")) continue;
    const auto counted = [&](int cards) {
      return *db::link_factor(one.name, ranks, cluster.nodes, cards > 1);
    };
    const double factor = counted(cluster.cards_per_node) / counted(cards_before);
    fit.beta_s_per_unit /= factor;
    fit.min_units *= factor;
    fit.max_units *= factor;
    for (SizeTime& point : fit.points) point.units *= factor;
  }
}

void divide_cards(CostedCluster& measured, int cards) {
  Cluster& cluster = measured.cluster;
  const int before = cluster.cards_per_node;
  cluster.inter_node.bandwidth_bytes_per_s *=
      static_cast<double>(before) / static_cast<double>(cards);
  cluster.cards_per_node = cards;
  for (auto& [key, fit] : measured.costs.fits) recount_ring(key, cluster, before, fit);
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
