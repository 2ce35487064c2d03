#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "moe/rows/expert_nodes.h"
#include "moe/rows/expert_slots.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Rows [begin, begin + rows) of a tensor.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t rows = 0;
};

/// Rows exchanged with one member of a group (its index in the group). The i-th segment that a sends to
/// b is the i-th segment that b receives from a.
struct Segment {
  int peer = 0;
  std::int64_t begin = 0;
  std::int64_t rows = 0;
};

/// Rows that a rank has between two legs of an exchange (leg.h), ordered by where they go, then piece, then source.
struct RelayedRows {
  /// A slot of a member of the expert group, and the expert that it has there.
  struct Target {
    int member = 0, slot = 0, expert = 0;
  };
  std::vector<Target> targets;                    ///< by member, then slot; without empty slots
  std::vector<int> sources;                       ///< members of the expert group, ascending
  std::vector<std::vector<std::int64_t>> tokens;  ///< [target][source]
  std::vector<std::vector<std::int64_t>> offset;  ///< [target][piece + 1], absolute row
};

/// Where the rows of one MoE layer lie on one rank.
///
/// Sent rows are ordered by expert, then slot. Slice c of r holds, for each expert with n rows,
/// slots [nc/r, n(c+1)/r): shares are cut expert by expert, so that every chunk carries the load of
/// the whole. Where ranks_per_group is not 0, slices are of steps between groups of so many members instead (FasterMoE's
/// pairwise exchange): of G groups, step s has what every group g sends to group g + s modulo G, and slice c of r the steps
/// [Gc/r, G(c+1)/r), of a broken one the slots as above. Received rows are ordered by local expert, then piece, then source, then slot, where
/// pieces are cut at every slice boundary that any op of the layer uses. A slice of any degree in
/// use, forward or backward, is therefore one contiguous range per local expert, and one GEMM.
/// Gathered rows, where ranks share experts, are ordered by local expert, then piece, then sharing rank;
/// within these as that rank received them. Local experts are those of a rank's ExpertSlots, in their order: its own,
/// and those that it computes beside them.
struct RowLayout {
  int experts = 0;
  ExpertSlots slots;
  std::vector<Slice>
      cuts;      ///< pieces between neighbouring cuts: cuts[i].index / cuts[i].count, from 0 to 1
  int self = 0;  ///< this rank's index in the expert group
  int ranks_per_group =
      0;  ///< 0: every pair of a source and an expert has its share of every slice
  std::vector<std::int64_t> sent;  ///< [expert]: rows of this rank
  /// [expert group member][local expert]: rows. What others send each other is not kept: all ranks
  /// together would need their cube.
  std::vector<std::vector<std::int64_t>> received;
  std::vector<std::int64_t> sent_offset;                ///< [expert + 1]
  std::vector<std::vector<std::int64_t>> piece_offset;  ///< [local expert][piece + 1], absolute row

  /// [member of the expert-sharded group][local expert][piece]: rows that it received.
  std::vector<std::vector<std::vector<std::int64_t>>> shared_rows;
  std::vector<std::vector<std::int64_t>> gathered_offset;  ///< as piece_offset, of gathered rows

  ExpertNodes
      nodes;  ///< of the expert group, where exchanges of the layer go by way of other ranks
  std::map<Rows, RelayedRows> relayed;
};

/// What a Program does to the routed rows of a MoE layer, the same in all its micro-batches and parts
/// (program/row_handling.h).
struct RowHandling {
  std::vector<Slice> cuts;  ///< where any op of the layer begins or ends a slice
  std::vector<Rows>
      relays;  ///< rows between the legs of an exchange that tensors of the layer hold
  /// Of its SendExperts; without them every rank computes its own, where Program::homes says.
  ExpertPlacement placement;
  int ranks_per_group = 0;  ///< of its ExchangeCounts
};
/// Takes time as ranks of the group times local experts, plus experts. Throws std::invalid_argument where the routing is of other ranks
/// or experts, the placement not of these, or ranks_per_group does not divide the expert group.
RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          std::vector<Slice> cuts, std::span<const Rows> relays = {},
                          const ExpertPlacement& placement = {}, int ranks_per_group = 0);
RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          const RowHandling& handling);

std::int64_t sent_rows(const RowLayout& layout);
std::int64_t received_rows(const RowLayout& layout);
std::int64_t gathered_rows(const RowLayout& layout);
std::int64_t sent_rows(const RowLayout& layout, Slice slice);
std::int64_t received_rows(const RowLayout& layout, Slice slice);
std::int64_t gathered_rows(const RowLayout& layout, Slice slice);
std::int64_t relayed_rows(const RowLayout& layout, Rows rows, Slice slice);

/// Pieces [begin, end) that make up a slice. Throws std::logic_error where it begins or ends at no cut.
struct PieceRange {
  std::size_t begin, end;
};
PieceRange pieces_of(const RowLayout& layout, Slice slice);
/// Of the rows that one member of the expert group sends to an expert on another (or on itself).
struct PairRows {
  std::int64_t rows = 0;
  int source = 0, destination = 0;  ///< members
};
/// Those before the cut.
std::int64_t rows_before(const RowLayout& layout, const PairRows& pair, Slice cut);
/// Those of a piece.
std::int64_t piece_rows(const RowLayout& layout, const PairRows& pair, std::size_t piece);

/// The received rows of `slice` for each local expert.
std::vector<RowRange> expert_rows(const RowLayout& layout, Slice slice);
/// The same of gathered rows.
std::vector<RowRange> gathered_expert_rows(const RowLayout& layout, Slice slice);
/// The sent rows of `slice`, without experts that have none; those of neighbours that adjoin are one range.
std::vector<RowRange> sent_ranges(const RowLayout& layout, Slice slice);

/// Rows that this rank sends in a dispatch (receives in a combine), by who computes them, local expert there and piece.
/// (leg.cpp)
std::vector<Segment> sent_segments(const RowLayout& layout, Slice slice);
/// Rows that this rank receives in a dispatch (sends in a combine), in the order in which each peer
/// sends them. (leg.cpp)
std::vector<Segment> received_segments(const RowLayout& layout, Slice slice);

/// The received rows of this rank, once for every rank that shares its experts: what it sends in a gather.
std::vector<Segment> shared_segments(const RowLayout& layout, Slice slice);
/// The gathered rows by the sharing rank that received them: what comes in a gather, and what a scatter sends
/// back.
std::vector<Segment> gathered_segments(const RowLayout& layout, Slice slice);
/// What comes in a scatter: the rows of this rank from every sharing rank, one block of received_rows(layout)
/// rows behind the other.
std::vector<Segment> scattered_segments(const RowLayout& layout, Slice slice);

/// Op kinds that exchange routed rows say what a rank sends and receives, peers by their index in the group.
template <class Kind>
concept ExchangesRows = requires(const Kind& kind, const RowLayout& layout, Slice slice) {
  { kind.sends(layout, slice) } -> std::same_as<std::vector<Segment>>;
  { kind.receives(layout, slice) } -> std::same_as<std::vector<Segment>>;
};

}  // namespace moe
