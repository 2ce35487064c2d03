#pragma once

#include <cstdint>
#include <vector>

namespace moe {

/// Who takes part in a communication.
enum class GroupKind : std::uint8_t { world, expert, expert_data };

/// How the ranks of a job are divided. Experts are spread over `expert` groups of consecutive
/// ranks; ranks with the same place in their expert groups hold the same experts and form an
/// `expert_data` group; all ranks hold the dense parameters (`world`).
struct Groups {
  int ranks = 1;
  int expert_ranks = 1;         ///< size of an expert group; divides ranks
  std::vector<int> node_of{0};  ///< node of each rank
};

/// Throws std::invalid_argument unless expert_ranks divides ranks. node_of is `ranks` zeros when
/// empty.
Groups make_groups(int ranks, int expert_ranks, std::vector<int> node_of = {});

/// Ranks in every group of this kind.
int group_size(const Groups& groups, GroupKind kind);

/// World ranks of the group of this kind that `rank` belongs to, ascending.
std::vector<int> members(const Groups& groups, GroupKind kind, int rank);

/// Place of `rank` within its group of that kind.
int index_in_group(const Groups& groups, GroupKind kind, int rank);

}  // namespace moe
