#pragma once

#include <string>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"

/// The network cards of a machine that was measured.
namespace tuner {

/// Cards of a node in this network (db/network.h), of which each has as many of its ranks; 1 where
/// it is not known. Where fewer ranks ran on a node than it has room for, its cards may not divide
/// them: then as many as divide both.
int measured_cards(const std::string& network, int ranks_per_node);

/// Gives each node of the cluster `cards` cards, a divisor of its ranks, that are together as fast
/// as those it has. Fits of NCCL's rings, which were counted as if one card had all their bytes, are
/// then of the bytes of a rank (link_factor in db/collective_facts.h).
void divide_cards(CostedCluster& measured, int cards);

/// Gives each rank its card, as groups_of() does: the first ranks of a node use its first one.
void use_cards(moe::Groups& groups, int ranks_per_node, int cards);

}  // namespace tuner
