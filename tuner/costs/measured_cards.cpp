#include "tuner/costs/measured_cards.h"

#include <map>
#include <numeric>

#include "db/network.h"

namespace tuner {

int measured_cards(const std::string& network, int ranks_per_node) {
  return std::gcd(db::cards_per_node(network).value_or(1), ranks_per_node);
}

void divide_cards(Cluster& cluster, int cards) {
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
