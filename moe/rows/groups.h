#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/layout.h"

namespace moe {

/// Who takes part in a communication, or holds copies of a parameter.
enum class GroupKind : std::uint8_t {
  stage,   ///< all ranks of a pipeline stage: they hold what nobody shares
  expert,  ///< EP: ranks that hold all experts between them, and exchange rows with each other
  expert_sharded,  ///< ESP: ranks that hold shares of the same experts
  expert_data,     ///< ranks that hold the same shares of the same experts
  expert_node,     ///< ranks of an expert group that are on one node
  expert_across,   ///< ranks of an expert group that have the same place in their nodes
  expert_leaders,  ///< the first ranks of an expert group's nodes; every other rank is by itself
  tensor,          ///< TP: ranks that hold shares of the same dense matrices
  data,            ///< ranks that hold the same shares of dense matrices
  even_boundary,   ///< PP: ranks in the same place of stages 0 and 1, of 2 and 3, ...
  odd_boundary,    ///< of stages 1 and 2, of 3 and 4, ...
};

/// The ranks of a job: how they are divided, and where they are.
struct Groups {
  int ranks = 1;
  Layout layout;                ///< of `ranks` ranks
  std::vector<int> node_of{0};  ///< node of each rank
};

/// Throws std::invalid_argument when node_of names another number of ranks; it is zeros when empty.
Groups make_groups(const Layout& layout, std::vector<int> node_of = {});
/// Expert groups of `expert_ranks`, the experts copied between them. Throws std::invalid_argument unless
/// expert_ranks divides ranks.
Groups make_groups(int ranks, int expert_ranks, std::vector<int> node_of = {});

/// Ranks of one pipeline stage.
int stage_ranks(const Groups& groups);
/// The stage of a rank, and its place among the ranks of the stage: its `rank` in routings.
int stage_of(const Groups& groups, int rank);
int rank_in_stage(const Groups& groups, int rank);
/// The pairs of ranks that stage `earlier` and the one behind it pass rows on between.
GroupKind boundary_after(int earlier);

/// Ranks in every group of this kind; in the largest, where a stage has no neighbour. Throws std::logic_error
/// for the groups of nodes, which may differ.
int group_size(const Groups& groups, GroupKind kind);
/// Ranks in the group of this kind that `rank` belongs to.
int group_size(const Groups& groups, GroupKind kind, int rank);

/// World ranks of the group of this kind that `rank` belongs to, ascending.
std::vector<int> members(const Groups& groups, GroupKind kind, int rank);

/// Place of `rank` within its group of that kind.
int index_in_group(const Groups& groups, GroupKind kind, int rank);

}  // namespace moe
