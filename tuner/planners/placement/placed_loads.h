#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

/// The rows that ranks of a MoE layer receive and compute under an ExpertPlacement.
namespace tuner {

/// [rank of the layer's pipeline stage]: its loads.
struct PlacedLoads {
  /// Rows from other members of its expert group: Pro-Prophet's R_i.
  std::vector<std::int64_t> received;
  /// Rows of the experts, or shares of experts, that it computes: H_i.
  std::vector<std::int64_t> computed;
};

/// For all expert groups. Throws as moe::expert_slots.
PlacedLoads placed_loads(const moe::LayerRouting& routing, const moe::Groups& groups,
                         const moe::ExpertPlacement& placement);

/// The rows of a layer, grouped for planners. Copies of the experts (dp) have their own tokens, and
/// so has each rank that shares an expert (esp).
struct GroupedRows {
  int copies = 1;
  int shards = 1;
  int experts = 0;
  int members = 1;                 ///< members of each expert group
  std::vector<std::int64_t> rows;  ///< [copy][shard][expert][member]
  moe::ExpertHomes homes;          ///< [expert]
};
/// Throws as moe::expert_slots.
GroupedRows grouped_rows(const moe::LayerRouting& routing, const moe::Groups& groups,
                         moe::ExpertHomes homes = {});
/// [member]: the rows of one expert in the group of one copy and shard.
std::span<const std::int64_t> rows_of(const GroupedRows& rows, int copy, int shard, int expert);
/// The rows of all copies and shards together: [expert], and [member] of one expert.
std::vector<std::int64_t> rows_by_expert(const GroupedRows& rows);
std::vector<std::int64_t> rows_by_member(const GroupedRows& rows, int expert);

/// The largest load over the mean load; 1 where there is no load.
double max_over_mean(const std::vector<std::int64_t>& loads);

}  // namespace tuner
