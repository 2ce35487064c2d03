#include "moe/rows/row_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

#include "moe/rows/row_shares.h"

namespace moe {
namespace {

bool same_point(Slice cut, int index, int count) {
  return static_cast<std::int64_t>(cut.index) * count ==
         static_cast<std::int64_t>(index) * cut.count;
}

/// Position of the boundary index/count among the cuts. Throws std::logic_error where no op uses
/// it.
std::size_t cut_position(const RowLayout& layout, int index, int count) {
  const auto found = std::lower_bound(layout.cuts.begin(), layout.cuts.end(), Slice{index, count},
                                      [](Slice a, Slice b) {
                                        return static_cast<std::int64_t>(a.index) * b.count <
                                               static_cast<std::int64_t>(b.index) * a.count;
                                      });
  if (found == layout.cuts.end() || !same_point(*found, index, count)) {
    throw std::logic_error(
        fmt::format("row layout: {}/{} is not a slice boundary of this layer", index, count));
  }
  return static_cast<std::size_t>(found - layout.cuts.begin());
}

/// [expert]: the rows that a rank of the world sends.
const std::vector<std::int64_t>& tokens_of(const LayerRouting& routing, const Groups& groups,
                                           int rank) {
  return tokens_from(routing, rank_in_stage(groups, rank));
}

/// The rows that the members of an expert group send each other: those of all that share the
/// experts, and whose share it is.
struct GroupRows {
  const RowShares& shares;
  int shard = 0;
  int members = 1;

  /// Those of member `source` for an expert that `member` computes; none for an empty slot.
  std::int64_t rows(int source, int expert, int member) const {
    return expert < 0 ? 0 : shares.rows(shard, source, expert, member);
  }
};

/// [local expert][piece]: rows that this member of the group receives.
std::vector<std::vector<std::int64_t>> received_by(const RowLayout& layout,
                                                   const GroupRows& group) {
  std::vector<std::vector<std::int64_t>> received;
  for (int d = 0; d < slot_count(layout.slots); ++d) {
    const int expert = expert_in(layout.slots, layout.self, d);
    std::vector<std::int64_t> pieces(layout.cuts.size() - 1);
    for (int source = 0; source < group.members; ++source) {
      const std::int64_t rows = group.rows(source, expert, layout.self);
      for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        pieces[piece] += piece_rows(layout, {rows, source, layout.self}, piece);
      }
    }
    received.push_back(std::move(pieces));
  }
  return received;
}

/// [local expert][piece + 1]: the first row of every piece, where a piece holds the rows of one of
/// these members after those of the other.
std::vector<std::vector<std::int64_t>> offsets_of(
    std::span<const std::vector<std::vector<std::int64_t>>> members, std::size_t pieces) {
  std::vector<std::vector<std::int64_t>> result;
  std::int64_t row = 0;
  for (std::size_t d = 0; d < members.front().size(); ++d) {
    std::vector<std::int64_t> offsets{row};
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (const auto& rows : members) row += rows[d][piece];
      offsets.push_back(row);
    }
    result.push_back(std::move(offsets));
  }
  return result;
}

std::vector<RowRange> ranges_of(const std::vector<std::vector<std::int64_t>>& offsets_of_experts,
                                PieceRange pieces) {
  std::vector<RowRange> ranges;
  for (const auto& offsets : offsets_of_experts) {
    ranges.push_back({offsets[pieces.begin], offsets[pieces.end] - offsets[pieces.begin]});
  }
  return ranges;
}

std::int64_t rows_in(const std::vector<RowRange>& ranges) {
  std::int64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.rows;
  return rows;
}

/// The rows of the slice among these.
RowRange in_slice(const RowLayout& layout, const CopyRows& sent, Slice slice) {
  const std::int64_t first = rows_before(layout, sent.pair, {slice.index, slice.count});
  const std::int64_t end = rows_before(layout, sent.pair, {slice.index + slice.span, slice.count});
  return {sent.begin + first, end - first};
}

/// Calls visit(rows) with the rows of the slice that the rank sends, copy by copy.
template <class Visit>
void visit_sent(const RowLayout& layout, Slice slice, const Visit& visit) {
  for (int expert = 0; expert < layout.experts; ++expert) {
    for (const CopyRows& sent : sent_to(layout, expert)) visit(in_slice(layout, sent, slice));
  }
}

/// The received rows of the slice, piece by piece, once for every sharing rank, each time `stride`
/// rows further on.
std::vector<Segment> own_segments(const RowLayout& layout, Slice slice, std::int64_t stride) {
  const PieceRange pieces = pieces_of(layout, slice);
  std::vector<Segment> segments;
  for (std::size_t member = 0; member < layout.shared_rows.size(); ++member) {
    for (const auto& offsets : layout.piece_offset) {
      for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
        segments.push_back({static_cast<int>(member),
                            offsets[piece] + static_cast<std::int64_t>(member) * stride,
                            offsets[piece + 1] - offsets[piece]});
      }
    }
  }
  return segments;
}

/// The relayed rows from these sources to the experts of these destinations.
RelayedRows rows_between(const RowLayout& layout, const GroupRows& group, std::vector<int> sources,
                         const std::vector<int>& destinations) {
  RelayedRows rows;
  rows.sources = std::move(sources);
  std::int64_t end = 0;
  for (const int member : destinations) {
    for (int slot = 0; slot < slot_count(layout.slots); ++slot) {
      const int expert = expert_in(layout.slots, member, slot);
      if (expert < 0) continue;
      rows.targets.push_back({member, slot, expert});
      auto& tokens = rows.tokens.emplace_back();
      for (const int source : rows.sources) {
        tokens.push_back(group.rows(source, expert, member));
      }
      auto& offsets = rows.offset.emplace_back(1, end);
      for (std::size_t piece = 0; piece + 1 < layout.cuts.size(); ++piece) {
        for (std::size_t s = 0; s < tokens.size(); ++s) {
          end += piece_rows(layout, {tokens[s], rows.sources[s], member}, piece);
        }
        offsets.push_back(end);
      }
    }
  }
  return rows;
}

RelayedRows make_relayed(const RowLayout& layout, const GroupRows& group, Rows rows) {
  const ExpertNodes& nodes = layout.nodes;
  const auto self = static_cast<std::size_t>(layout.self);
  const std::vector<int>& here = nodes.members[nodes.node[self]];
  std::vector<int> everybody(static_cast<std::size_t>(group.members)), with_my_place;
  std::iota(everybody.begin(), everybody.end(), 0);
  for (const int member : everybody) {
    if (nodes.place[member] == nodes.place[self]) {
      with_my_place.push_back(member);
    }
  }
  const bool leads = nodes.place[self] == 0;
  switch (rows) {
    case Rows::relayed:
      return rows_between(layout, group, here, with_my_place);
    case Rows::leader_sent:
      return rows_between(layout, group, here, leads ? everybody : std::vector<int>{});
    case Rows::leader_received:
      return rows_between(layout, group, everybody, leads ? here : std::vector<int>{});
    case Rows::fixed:
    case Rows::sent:
    case Rows::received:
    case Rows::gathered:
      break;
  }
  throw std::logic_error("row layout: rows of this kind are not relayed");
}

}  // namespace

std::vector<CopyRows> sent_to(const RowLayout& layout, int expert) {
  std::int64_t begin = layout.sent_offset[expert];
  if (layout.sent_to_copies.empty() || layout.sent_to_copies[expert].empty()) {
    return {{begin,
             {layout.sent[expert], layout.self, destination(layout.slots, layout.self, expert)}}};
  }
  std::vector<CopyRows> sent;
  const std::vector<int> copies = copies_of(layout.slots, expert);
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    const std::int64_t rows = layout.sent_to_copies[expert][copy];
    sent.push_back({begin, {rows, layout.self, copies[copy]}});
    begin += rows;
  }
  return sent;
}

std::int64_t rows_before(const RowLayout& layout, const PairRows& pair, Slice cut) {
  const int size = layout.ranks_per_group;
  if (size == 0) return pair.rows * cut.index / cut.count;
  const int groups = static_cast<int>(layout.received.size()) / size;
  const int step = (pair.destination / size - pair.source / size + groups) % groups;
  const std::int64_t of_step = std::int64_t{cut.index} * groups - std::int64_t{step} * cut.count;
  return pair.rows * std::clamp<std::int64_t>(of_step, 0, cut.count) / cut.count;
}

std::int64_t piece_rows(const RowLayout& layout, const PairRows& pair, std::size_t piece) {
  return rows_before(layout, pair, layout.cuts[piece + 1]) -
         rows_before(layout, pair, layout.cuts[piece]);
}

PieceRange pieces_of(const RowLayout& layout, Slice slice) {
  return {cut_position(layout, slice.index, slice.count),
          cut_position(layout, slice.index + slice.span, slice.count)};
}

RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          const RowHandling& handling, const SharesByCopy::OfCopy& shares) {
  const std::vector<int> group = members(groups, GroupKind::expert, rank);
  const int ranks_per_group = handling.ranks_per_group;
  if (ranks_per_group < 0 ||
      (ranks_per_group > 0 && static_cast<int>(group.size()) % ranks_per_group != 0)) {
    throw std::invalid_argument(
        fmt::format("row layout of layer {}: {} ranks do not divide into "
                    "groups of {}",
                    routing.layer, group.size(), ranks_per_group));
  }
  RowLayout layout;
  layout.ranks_per_group = ranks_per_group;
  layout.experts = routing.experts;
  layout.slots = shares.placed.slots;
  layout.cuts = handling.cuts;
  layout.self = index_in_group(groups, GroupKind::expert, rank);
  layout.sent = tokens_of(routing, groups, rank);
  const int own_shard = index_in_group(groups, GroupKind::expert_sharded, rank);
  const GroupRows rows{shares.rows, own_shard, static_cast<int>(group.size())};
  const int slots = slot_count(layout.slots);
  layout.received.columns = static_cast<std::size_t>(slots);
  layout.received.counts.reserve(group.size() * layout.received.columns);
  for (int source = 0; source < static_cast<int>(group.size()); ++source) {
    for (int slot = 0; slot < slots; ++slot) {
      layout.received.counts.push_back(
          rows.rows(source, expert_in(layout.slots, layout.self, slot), layout.self));
    }
  }

  layout.sent_offset.reserve(layout.sent.size() + 1);
  layout.sent_offset.assign(1, 0);
  for (const std::int64_t tokens : layout.sent) {
    layout.sent_offset.push_back(layout.sent_offset.back() + tokens);
  }
  if (!layout.slots.copies_before.empty()) {
    layout.sent_to_copies.resize(layout.sent.size());
    for (int expert = 0; expert < layout.experts; ++expert) {
      const std::vector<int> copies = copies_of(layout.slots, expert);
      for (std::size_t copy = 0; copies.size() > 1 && copy < copies.size(); ++copy) {
        layout.sent_to_copies[expert].push_back(rows.rows(layout.self, expert, copies[copy]));
      }
    }
  }

  for (int shard = 0; shard < groups.layout.expert_sharded; ++shard) {
    layout.shared_rows.push_back(received_by(layout, {shares.rows, shard, rows.members}));
  }
  const std::span all(layout.shared_rows);
  const auto own = static_cast<std::size_t>(own_shard);
  const std::size_t pieces = layout.cuts.size() - 1;
  layout.piece_offset = offsets_of(all.subspan(own, 1), pieces);
  layout.gathered_offset = offsets_of(all, pieces);

  if (!handling.relays.empty()) layout.nodes = expert_nodes(groups, rank);
  for (const Rows kind : handling.relays)
    layout.relayed.emplace(kind, make_relayed(layout, rows, kind));
  return layout;
}

RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          const RowHandling& handling) {
  return make_row_layout(routing, groups, rank, handling,
                         {handling.placement, routing, groups, rank});
}

RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          std::vector<Slice> cuts, std::span<const Rows> relays,
                          const ExpertPlacement& placement, int ranks_per_group) {
  return make_row_layout(
      routing, groups, rank,
      RowHandling{std::move(cuts), {relays.begin(), relays.end()}, placement, ranks_per_group});
}

std::int64_t sent_rows(const RowLayout& layout) { return layout.sent_offset.back(); }
std::int64_t received_rows(const RowLayout& layout) { return layout.piece_offset.back().back(); }
std::int64_t gathered_rows(const RowLayout& layout) { return layout.gathered_offset.back().back(); }

std::int64_t sent_rows(const RowLayout& layout, Slice slice) {
  if (is_whole(slice)) return sent_rows(layout);
  std::int64_t rows = 0;
  visit_sent(layout, slice, [&](const RowRange& sent) { rows += sent.rows; });
  return rows;
}

std::int64_t received_rows(const RowLayout& layout, Slice slice) {
  return rows_in(expert_rows(layout, slice));
}

std::int64_t gathered_rows(const RowLayout& layout, Slice slice) {
  return rows_in(gathered_expert_rows(layout, slice));
}

std::int64_t relayed_rows(const RowLayout& layout, Rows rows, Slice slice) {
  return rows_in(ranges_of(layout.relayed.at(rows).offset, pieces_of(layout, slice)));
}

std::vector<RowRange> expert_rows(const RowLayout& layout, Slice slice) {
  return ranges_of(layout.piece_offset, pieces_of(layout, slice));
}

std::vector<RowRange> gathered_expert_rows(const RowLayout& layout, Slice slice) {
  return ranges_of(layout.gathered_offset, pieces_of(layout, slice));
}

std::vector<RowRange> sent_ranges(const RowLayout& layout, Slice slice) {
  std::vector<RowRange> ranges;
  visit_sent(layout, slice, [&](const RowRange& sent) {
    if (sent.rows == 0) return;
    if (!ranges.empty() && ranges.back().begin + ranges.back().rows == sent.begin) {
      ranges.back().rows += sent.rows;
    } else {
      ranges.push_back(sent);
    }
  });
  return ranges;
}

std::vector<Segment> shared_segments(const RowLayout& layout, Slice slice) {
  return own_segments(layout, slice, 0);
}

std::vector<Segment> gathered_segments(const RowLayout& layout, Slice slice) {
  const PieceRange pieces = pieces_of(layout, slice);
  std::vector<Segment> segments;
  for (std::size_t d = 0; d < layout.gathered_offset.size(); ++d) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      std::int64_t row = layout.gathered_offset[d][piece];
      for (std::size_t member = 0; member < layout.shared_rows.size(); ++member) {
        const std::int64_t rows = layout.shared_rows[member][d][piece];
        segments.push_back({static_cast<int>(member), row, rows});
        row += rows;
      }
    }
  }
  return segments;
}

std::vector<Segment> scattered_segments(const RowLayout& layout, Slice slice) {
  return own_segments(layout, slice, received_rows(layout));
}

}  // namespace moe
