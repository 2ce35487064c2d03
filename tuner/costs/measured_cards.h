#pragma once

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"

/// The network cards of a machine that was measured.
namespace tuner {

/// Gives each node of the cluster `cards` cards that are together as fast as those it has. Their
/// number must divide its ranks.
void divide_cards(Cluster& cluster, int cards);

/// As divide_cards, of a network whose nodes have `cards`. Where fewer ranks ran on a node than it
/// has room for, the cards may not divide them: then it is given as many as divide both.
void divide_known_cards(Cluster& cluster, int cards);

/// Gives each rank its card, as groups_of() does: the first ranks of a node use its first one.
void use_cards(moe::Groups& groups, const Cluster& cluster);

}  // namespace tuner
