#pragma once

#include <string>
#include <string_view>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"

/// The network cards of a machine that was measured.
namespace tuner {

/// Cards of a node in this network (db/network.h), of which each has as many of its ranks; 1 where
/// it is not known. Where fewer ranks ran on a node than it has room for, its cards may not divide
/// them: then as many as divide both.
int measured_cards(const std::string& network, int ranks_per_node);

/// Counts a fit of one of NCCL's rings as the cards of `cluster` are, where it was counted for nodes
/// of `cards_before`: with several cards its bytes are those of a rank's own ring, with one those of
/// a ring through all ranks (link_factor in db/collective_facts.h). Its times stay. `key`: as
/// CostModel::fits has it; other fits are left.
void recount_ring(std::string_view key, const Cluster& cluster, int cards_before, LinearFit& fit);

/// Gives each node of the cluster `cards` cards, a divisor of its ranks, that are together as fast
/// as those it has. Fits of NCCL's rings follow (recount_ring).
void divide_cards(CostedCluster& measured, int cards);

/// Gives each rank its card, as groups_of() does: the first ranks of a node use its first one.
void use_cards(moe::Groups& groups, int ranks_per_node, int cards);

}  // namespace tuner
