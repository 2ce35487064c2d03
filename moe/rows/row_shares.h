#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "moe/rows/balanced_quotas.h"
#include "moe/rows/count_table.h"
#include "moe/rows/expert_slots.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

/// Rows of one pair of source and expert that several members compute (RowsOfOthers::balanced).
/// Everything here follows from the counts of a layer, which every rank has before any routed row
/// moves, so all ranks come to the same shares.
namespace moe {

/// Shares out the rows of one expert: first every source's own copy takes of its rows what the
/// quota allows. The rest of all sources stands in one line, and the copies take what they may
/// still have, in order. `rows`: [source]; `own`: [source] the copy that is on the same member, -1
/// where there is none; `quotas`: [copy]. Returns [source][copy]. Throws std::out_of_range where
/// the sum of quotas is less than that of the rows.
/// [UltraEP's locality, with MoonEP's exact intervals for the rest]
CountTable shares_near_home(std::span<const std::int64_t> rows, std::span<const int> own,
                            std::span<const std::int64_t> quotas);

/// Where the experts of one routed layer are computed, and how many rows of each.
struct PlacedRows {
  ExpertSlots slots;
  RowQuotas quotas;  ///< empty unless rows are balanced
  /// All rows of an expert stand in one line, source by source, and copies take them in order;
  /// otherwise a source's own copy takes of its rows first.
  bool in_line = false;
};
/// Of the copy of the experts to which `rank` belongs. Throws as expert_slots, and
/// std::invalid_argument where the routing is not of the groups' ranks and experts.
PlacedRows place_rows(const ExpertPlacement& placement, const LayerRouting& routing,
                      const Groups& groups, int rank);

/// The rows of one routed layer that members of the expert groups of one copy of the experts send
/// each other.
class RowShares {
 public:
  /// For the copy to which `rank` belongs. The arguments must outlive it.
  RowShares(const PlacedRows& placed, const LayerRouting& routing, const Groups& groups, int rank);

  /// The rows of member `source` for `expert` that `member` computes, in the expert group of the
  /// ranks that hold the `shard`-th share of the experts.
  std::int64_t rows(int shard, int source, int expert, int member) const;
  /// [member]: the rows of member `source` for all experts that the member computes.
  std::vector<std::int64_t> rows_by_member(int shard, int source) const;

 private:
  const ExpertSlots& slots_;
  std::size_t shards_;
  std::vector<const std::vector<std::int64_t>*> tokens_;  ///< [source * shards + shard]
  /// [expert][source * shards + shard][copy]. Empty for an expert of one copy, and where rows are
  /// not balanced.
  std::vector<CountTable> split_;
};

/// The shares of one routed layer in every copy of the experts. The ranks of a copy come to the
/// same, so they are worked out once for all of them.
class SharesByCopy {
 public:
  /// The arguments must outlive it.
  SharesByCopy(const ExpertPlacement& placement, const LayerRouting& routing)
      : placement_(placement), routing_(routing) {}
  SharesByCopy(const SharesByCopy&) = delete;
  SharesByCopy& operator=(const SharesByCopy&) = delete;

  struct OfCopy {
    PlacedRows placed;
    RowShares rows;
    OfCopy(const ExpertPlacement& placement, const LayerRouting& routing, const Groups& groups,
           int rank)
        : placed(place_rows(placement, routing, groups, rank)),
          rows(placed, routing, groups, rank) {}
    OfCopy(const OfCopy&) = delete;
    OfCopy& operator=(const OfCopy&) = delete;
  };
  /// Those of the copy to which `rank` belongs. The groups are always divided alike. Throws as
  /// place_rows.
  const OfCopy& of(const Groups& groups, int rank);

 private:
  const ExpertPlacement& placement_;
  const LayerRouting& routing_;
  std::map<int, OfCopy> copies_;  ///< by the place in the stage
};

/// [rank of the layer's pipeline stage][member of its expert group]: the rows of the rank that the
/// member computes.
std::vector<std::vector<std::int64_t>> rows_between_ranks(const ExpertPlacement& placement,
                                                          const LayerRouting& routing,
                                                          const Groups& groups);

}  // namespace moe
