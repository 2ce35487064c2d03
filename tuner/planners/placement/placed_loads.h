#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

/// What travels in a MoE layer under an ExpertPlacement, and who computes it.
namespace tuner {

/// By rank of the layer's pipeline stage.
struct PlacedLoads {
  std::vector<std::int64_t>
      received;  ///< rows from other members of its expert group; Pro-Prophet's R_i
  std::vector<std::int64_t>
      computed;  ///< rows of experts, or shares of experts, that it computes; H_i
};

/// Of every expert group alike. Throws std::invalid_argument as moe::expert_slots.
PlacedLoads placed_loads(const moe::LayerRouting& routing, const moe::Groups& groups,
                         const moe::ExpertPlacement& placement);

/// The rows of a layer as planners go through them. Copies of the experts (dp) have their own
/// tokens, and so has each of the ranks that share an expert (esp).
struct GroupedRows {
  int copies = 1;
  int shards = 1;
  int experts = 0;
  int members = 1;                 ///< of each expert group
  std::vector<std::int64_t> rows;  ///< [copy][shard][expert][member]
  moe::ExpertHomes homes;          ///< of every expert
};
/// Throws std::invalid_argument as moe::expert_slots.
GroupedRows grouped_rows(const moe::LayerRouting& routing, const moe::Groups& groups,
                         moe::ExpertHomes homes = {});
/// By member: what one expert gets from the group of one copy and shard.
std::span<const std::int64_t> rows_of(const GroupedRows& rows, int copy, int shard, int expert);
/// Of all copies and shards together: [expert], and [member] of one expert.
std::vector<std::int64_t> rows_by_expert(const GroupedRows& rows);
std::vector<std::int64_t> rows_by_member(const GroupedRows& rows, int expert);

/// The member that an expert belongs to.
int home_of(const GroupedRows& rows, int expert);

/// The largest over the mean; 1 where there is no load.
double max_over_mean(const std::vector<std::int64_t>& loads);

/// RB, Pro-Prophet's balance degree before over after, of what ranks compute: the standard
/// deviation of the loads [Pro-Prophet VI-C, printed]. 1 where nothing is replicated, and all
/// experts are at home in order.
double balance_ratio(const moe::LayerRouting& routing, const moe::Groups& groups,
                     const moe::ExpertPlacement& placement);

}  // namespace tuner
