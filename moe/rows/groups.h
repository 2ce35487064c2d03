#pragma once

#include <cstdint>
#include <span>
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

/// Levels above the nodes, at most.
inline constexpr int kMostLevels = 3;

/// A level of the network above the nodes: its blocks are joined by one link each.
struct Level {
  std::vector<int> block_of;  ///< [rank]: the block that its card is in
  /// [class of ranks]: how many such ranks a block has. Empty: ranks stand for themselves.
  std::vector<int> alike = {};
};

/// How many ranks of a block a rank or class stands for.
inline int ranks_alike(const Level& level, int rank) {
  return level.alike.empty() ? 1 : level.alike[static_cast<std::size_t>(rank)];
}
/// Blocks are numbered below this.
int block_count(const Level& level);

/// The ranks of a job, their division and their nodes.
struct Groups {
  int ranks = 1;
  Layout layout;                ///< a layout of `ranks` ranks
  std::vector<int> node_of{0};  ///< node of each rank
  /// Network card of each rank, a number that is on one node only. Empty: the nodes have one each.
  std::vector<int> card_of = {};
  /// Place of each rank in its node, where bytes leave a node by the card in the receiver's place
  /// (sending_rank). Empty: by that of their sender.
  std::vector<int> place_of = {};
  std::vector<Level> levels = {};  ///< innermost first; a block lies in one block of the next level
};

/// The network card by which a rank reaches other nodes; where nodes have one each, that of its node.
inline int network_card(const Groups& groups, int rank) {
  return (groups.card_of.empty() ? groups.node_of : groups.card_of)[static_cast<std::size_t>(rank)];
}

/// Cards are numbered below this.
int card_count(const Groups& groups);

/// The rank by whose card bytes leave the node of `from` for a rank of another node: `from`, or the
/// rank of that node in the receiver's place, to which they go first. As in NCCL's PXN that is one
/// of `members`, the ranks of the same call, ascending; where it is none, they leave by their own.
/// [NVIDIA, "Doubling all2all Performance with NCCL 2.12"]
int sending_rank(const Groups& groups, std::span<const int> members, int from, int to);
/// How many of the innermost levels bytes cross that leave a node by the card of `by` for `to`.
int levels_crossed(const Groups& groups, int by, int to);

/// An empty node_of means one node. Throws std::invalid_argument where node_of and the layout
/// differ in the number of ranks, or tp does not divide the ranks of a stage.
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
