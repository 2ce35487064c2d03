#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "moe/rows/layout.h"

namespace moe {

/// The ranks that take part in a communication, or that hold copies of a parameter.
enum class GroupKind : std::uint8_t {
  stage,           ///< all ranks of a pipeline stage, which hold copies of undivided parameters
  expert,          ///< EP: ranks that together hold all experts and exchange rows with each other
  expert_sharded,  ///< ESP: ranks that hold shares of the same experts
  expert_data,     ///< ranks that hold the same shares of the same experts
  expert_node,     ///< ranks of an expert group that are on one node
  expert_across,   ///< ranks of an expert group that have the same place in their nodes
  expert_leaders,  ///< the first rank of each node of an expert group; any other rank is alone
  tensor,          ///< TP: ranks that hold shares of the same dense matrices
  data,            ///< ranks that hold the same shares of dense matrices
  even_boundary,   ///< PP: ranks in the same place of stages 0 and 1, of stages 2 and 3, ...
  odd_boundary,    ///< PP: ranks in the same place of stages 1 and 2, of stages 3 and 4, ...
  ends,            ///< PP: ranks in the same place of the first and of the last stage
  world,           ///< all ranks of all stages
};

/// "expert_sharded": the name of the enumerator.
std::string_view group_name(GroupKind kind);

/// The ranks of a job, their division and their nodes.
struct Groups {
  int ranks = 1;
  Layout layout;                ///< a layout of `ranks` ranks
  std::vector<int> node_of{0};  ///< node of each rank
  /// Network card of each rank, a number that is on one node only. Empty: the nodes have one each.
  std::vector<int> card_of = {};
};

/// The network card by which a rank reaches other nodes; where nodes have one each, that of its node.
inline int network_card(const Groups& groups, int rank) {
  return (groups.card_of.empty() ? groups.node_of : groups.card_of)[static_cast<std::size_t>(rank)];
}

/// Cards are numbered below this.
int card_count(const Groups& groups);

/// An empty node_of means one node. Throws std::invalid_argument where node_of and the layout
/// differ in the number of ranks.
Groups make_groups(const Layout& layout, std::vector<int> node_of = {});
/// Expert groups of `expert_ranks` ranks, each with a copy of all experts. Throws
/// std::invalid_argument unless expert_ranks divides ranks.
Groups make_groups(int ranks, int expert_ranks, std::vector<int> node_of = {});

/// Ranks of one pipeline stage.
int stage_ranks(const Groups& groups);
/// The pipeline stage of a rank.
int stage_of(const Groups& groups, int rank);
/// The place of a rank among the ranks of its stage: its source rank in a LayerRouting.
int rank_in_stage(const Groups& groups, int rank);
/// The kind of group in which stage `earlier` passes rows to the stage after it.
GroupKind boundary_after(int earlier);

/// Ranks in every group of this kind. At a boundary and at the ends this is 2 although a stage
/// without a neighbour is alone. Throws std::logic_error for the groups of nodes, which may differ
/// in size.
int group_size(const Groups& groups, GroupKind kind);
/// Ranks in the group of this kind that `rank` belongs to.
int group_size(const Groups& groups, GroupKind kind, int rank);

/// World ranks of the group of this kind that `rank` belongs to, ascending.
std::vector<int> members(const Groups& groups, GroupKind kind, int rank);

/// Place of `rank` within its group of that kind.
int index_in_group(const Groups& groups, GroupKind kind, int rank);

}  // namespace moe
