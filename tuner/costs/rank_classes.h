#pragma once

#include <vector>

#include "moe/program/program.h"
#include "moe/program/row_handling.h"
#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"

namespace tuner {

/// Ranks that are alike: one of them stands for all, so that thousands of ranks are predicted in
/// the time of a few. Two ranks are alike where
///   - in every MoE layer they have as many rows of their own and for their experts,
///   - they have the same place in their nodes, and the ranks in the same places of the two nodes
///     are alike,
///   - the blocks that they are in, of each level above the nodes, have as many ranks of each class,
///   - the groups in which they communicate have as many ranks of each class, in the rank's block
///     as in all.
/// The classes of all pipeline stages are the same, by the place in the stage. Everything that is
/// worked out by rank can be worked out by class: a class takes the place of a rank in `groups`.
struct RankClasses {
  moe::Groups groups;        ///< stages and nodes of the classes as if they were ranks
  std::vector<int> of_rank;  ///< [rank]: its class
  std::vector<int> rank_of;  ///< [class]: its first rank
  std::vector<int> count;    ///< [class]: its ranks
};

/// Predictions of more ranks than this look for ranks that are alike, and for the transfers of
/// larger calls count bytes by rank and link, not by pair of ranks (op_costs.h).
inline constexpr int kMostSingleRanks = 64;
/// Where loads are even, predictions of more ranks than this make classes: next to nothing is lost.
inline constexpr int kMostSingleEvenRanks = 16;

/// [place in a stage]: a number that is the same for ranks with as many rows of the layer: every
/// number of rows is the same on both, of every slice. Every rank has a number of its own where the
/// routing is a table with a row for each rank, or experts have replicas.
std::vector<int> classes_in_layer(const moe::RoutedRows& layer, const moe::Groups& groups);

/// Whether both layers have the same rows, cut and placed alike, and not relayed by nodes, of which
/// two pipeline stages may have different ones.
bool have_same_rows(const moe::RoutedRows& a, const moe::RoutedRows& b);

/// Whether the ranks of a stage send the same row in each of the layers, and no expert gets more
/// than one copy more from a rank than another does: as even as whole rows can be.
bool loads_are_even(const std::vector<moe::RoutedRows>& layers, const moe::Groups& groups);

/// Every rank is a class of its own.
RankClasses single_ranks(const moe::Groups& groups);

/// The classes of the ranks of `groups`, where there are more than `most_single` of them and none
/// of them wait for each other's processors; else single_ranks.
RankClasses rank_classes(const moe::Program& program, const moe::Groups& groups,
                         const std::vector<moe::RoutedRows>& layers, const Cluster& cluster,
                         int most_single = kMostSingleRanks);

}  // namespace tuner
