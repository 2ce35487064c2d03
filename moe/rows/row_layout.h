#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "moe/rows/count_table.h"
#include "moe/rows/expert_nodes.h"
#include "moe/rows/expert_slots.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "moe/rows/row_shares.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Rows [begin, begin + rows) of a tensor.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t rows = 0;
};

/// Rows [begin, begin + rows) exchanged with one member of a group. The i-th segment that member a
/// sends to member b is the i-th segment that b receives from a.
struct Segment {
  int peer = 0;  ///< the member's index in the group
  std::int64_t begin = 0;
  std::int64_t rows = 0;
};

/// The rows that a rank has between two legs of an exchange (leg.h), ordered by target, then piece,
/// then source.
struct RelayedRows {
  /// The destination of rows: a slot of a member of the expert group, and the expert there.
  struct Target {
    int member = 0, slot = 0, expert = 0;
  };
  std::vector<Target> targets;  ///< all targets, by member, then slot, without empty slots
  std::vector<int> sources;     ///< members of the expert group, ascending
  std::vector<std::vector<std::int64_t>> tokens;  ///< [target][source]
  std::vector<std::vector<std::int64_t>> offset;  ///< [target][piece + 1], absolute row
};

/// The places of the rows of one MoE layer on one rank.
///
/// Slices. Ops work on slices of the routed rows (chunks). Rows are cut expert by expert, so that
/// every slice carries the same share of the load. Of the n rows that a source sends to an expert,
/// slice c of r holds rows [nc/r, n(c+1)/r). Where ranks_per_group is not 0, slices are cut by
/// steps of FasterMoE's pairwise exchange instead. The expert group is divided into G groups of
/// that many members. In step s every group g sends to group (g + s) mod G. Slice c of r holds the
/// steps [Gc/r, G(c+1)/r). A step that a slice holds only in part is cut expert by expert as above.
///
/// Pieces. The boundaries of all slices that any op of the layer uses, forward or backward, cut the
/// rows into pieces. Every slice is a range of whole pieces.
///
/// Order of rows. Sent rows are ordered by expert, and where rows are balanced by the copy that
/// computes them. Received rows are ordered by local expert, then piece, then source; a slice is
/// therefore one contiguous range per local expert, and one GEMM.
/// Gathered rows, where ranks share experts (esp), are ordered by local expert, then piece, then
/// sharing rank, and within these as that rank received them. The local experts of a rank are those
/// of its ExpertSlots, in their order.
struct RowLayout {
  int experts = 0;
  ExpertSlots slots;
  /// The boundaries of the pieces, as fractions cuts[i].index / cuts[i].count, ascending from 0 to
  /// 1.
  std::vector<Slice> cuts;
  int self = 0;                    ///< this rank's index in the expert group
  int ranks_per_group = 0;         ///< 0: slices are cut expert by expert
  std::vector<std::int64_t> sent;  ///< [expert]: rows that this rank sends
  /// [expert]: the rows of these for each copy of it (copies_of). Empty for an expert of one copy,
  /// and everywhere unless rows are balanced: then all go to the destination.
  std::vector<std::vector<std::int64_t>> sent_to_copies;
  /// [expert group member][local expert]: rows that this rank receives. Rows that other ranks send
  /// each other are not kept: over all ranks they would take memory cubic in the number of ranks.
  CountTable received;
  std::vector<std::int64_t> sent_offset;                ///< [expert + 1]
  std::vector<std::vector<std::int64_t>> piece_offset;  ///< [local expert][piece + 1], absolute row

  /// [member of the expert-sharded group][local expert][piece]: rows that it received.
  std::vector<std::vector<std::vector<std::int64_t>>> shared_rows;
  /// The same as piece_offset, for gathered rows.
  std::vector<std::vector<std::int64_t>> gathered_offset;

  ExpertNodes nodes;  ///< the nodes of the expert group; empty unless rows are relayed
  std::map<Rows, RelayedRows> relayed;
};

/// The handling of a MoE layer's routed rows by a Program. It is the same in all micro-batches and
/// parts (program/row_handling.h).
struct RowHandling {
  std::vector<Slice> cuts;   ///< every boundary of a slice that an op of the layer uses
  std::vector<Rows> relays;  ///< the kinds of rows between legs that tensors of the layer hold
  /// The replicas are those of the layer's SendExperts, the homes those of Program::homes.
  ExpertPlacement placement;
  int ranks_per_group = 0;  ///< the value of the layer's counts (counts_of)
};
/// Takes time in proportion to members of the expert group x local experts, plus experts. Throws
/// std::invalid_argument where the routing has another number of ranks or experts, where the
/// placement does not fit them, and where ranks_per_group does not divide the expert group.
RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          std::vector<Slice> cuts, std::span<const Rows> relays = {},
                          const ExpertPlacement& placement = {}, int ranks_per_group = 0);
RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          const RowHandling& handling);
/// The same with the shares of the rank's copy of the experts, where those are known already.
RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          const RowHandling& handling, const SharesByCopy::OfCopy& shares);

std::int64_t sent_rows(const RowLayout& layout);
std::int64_t received_rows(const RowLayout& layout);
std::int64_t gathered_rows(const RowLayout& layout);
std::int64_t sent_rows(const RowLayout& layout, Slice slice);
std::int64_t received_rows(const RowLayout& layout, Slice slice);
std::int64_t gathered_rows(const RowLayout& layout, Slice slice);
std::int64_t relayed_rows(const RowLayout& layout, Rows rows, Slice slice);

/// Pieces [begin, end) that make up a slice. Throws std::logic_error where an end of the slice is
/// not one of the cuts.
struct PieceRange {
  std::size_t begin, end;
};
PieceRange pieces_of(const RowLayout& layout, Slice slice);
/// The rows that one member of the expert group sends to one expert of another member or of itself.
struct PairRows {
  std::int64_t rows = 0;
  int source = 0, destination = 0;  ///< members
};
/// The rows that this rank sends to a copy of an expert, whole: their first one, and their pair.
struct CopyRows {
  std::int64_t begin = 0;
  PairRows pair;
};
/// One for each copy that rows of this rank may go to (may_send), in the order of rows.
std::vector<CopyRows> sent_to(const RowLayout& layout, int expert);
/// The number of rows of the pair before the cut.
std::int64_t rows_before(const RowLayout& layout, const PairRows& pair, Slice cut);
/// The number of rows of the pair in a piece.
std::int64_t piece_rows(const RowLayout& layout, const PairRows& pair, std::size_t piece);

/// [local expert]: the received rows of `slice`.
std::vector<RowRange> expert_rows(const RowLayout& layout, Slice slice);
/// [local expert]: the gathered rows of `slice`.
std::vector<RowRange> gathered_expert_rows(const RowLayout& layout, Slice slice);
/// The sent rows of `slice`, one range per expert. Experts without rows have no range; ranges that
/// adjoin are joined.
std::vector<RowRange> sent_ranges(const RowLayout& layout, Slice slice);

/// The rows that this rank sends in a dispatch (and receives in a combine), ordered by destination,
/// local expert there, and piece. Defined in leg.cpp.
std::vector<Segment> sent_segments(const RowLayout& layout, Slice slice);
/// The rows that this rank receives in a dispatch (and sends in a combine), in the order in which
/// each peer sends them. Defined in leg.cpp.
std::vector<Segment> received_segments(const RowLayout& layout, Slice slice);

/// The rows that this rank sends in a gather: its received rows, once for every rank that shares
/// its experts.
std::vector<Segment> shared_segments(const RowLayout& layout, Slice slice);
/// The rows that this rank receives in a gather and sends back in a scatter: the gathered rows, by
/// the sharing rank that received them.
std::vector<Segment> gathered_segments(const RowLayout& layout, Slice slice);
/// The rows that this rank receives in a scatter: its own rows from every sharing rank, in one
/// block of received_rows(layout) rows after the other.
std::vector<Segment> scattered_segments(const RowLayout& layout, Slice slice);

/// An op kind that exchanges routed rows gives the segments that a rank sends and receives. Peers
/// are indices in the group.
template <class Kind>
concept ExchangesRows = requires(const Kind& kind, const RowLayout& layout, Slice slice) {
  { kind.sends(layout, slice) } -> std::same_as<std::vector<Segment>>;
  { kind.receives(layout, slice) } -> std::same_as<std::vector<Segment>>;
};

}  // namespace moe
