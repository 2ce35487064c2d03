#include "tuner/costs/measured_cards.h"

#include <map>
#include <numeric>

namespace tuner {

void divide_cards(Cluster& cluster, int cards) {
  cluster.inter_node.bandwidth_bytes_per_s *=
      static_cast<double>(cluster.cards_per_node) / static_cast<double>(cards);
  cluster.cards_per_node = cards;
}

void divide_known_cards(Cluster& cluster, int cards) {
  divide_cards(cluster, std::gcd(cards, cluster.ranks_per_node));
}

void use_cards(moe::Groups& groups, const Cluster& cluster) {
  groups.card_of.clear();
  if (cluster.cards_per_node == 1) return;
  std::map<int, int> seen;  // ranks of a node
  for (const int node : groups.node_of) {
    const int place = seen[node]++ % cluster.ranks_per_node;
    groups.card_of.push_back(node * cluster.cards_per_node +
                             place * cluster.cards_per_node / cluster.ranks_per_node);
  }
}

}  // namespace tuner
