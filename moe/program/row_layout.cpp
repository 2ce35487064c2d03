#include "moe/program/row_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

namespace moe {
namespace {

/// Rows before the cut, of `rows`: cuts are reduced fractions, so that n * i / c rounds like
/// slice_begin.
std::int64_t rows_before(std::int64_t rows, Slice cut) { return rows * cut.index / cut.count; }

bool same_point(Slice cut, int index, int count) {
  return static_cast<std::int64_t>(cut.index) * count ==
         static_cast<std::int64_t>(index) * cut.count;
}

/// Position of the boundary index/count among the cuts. Throws std::logic_error when no op
/// announced it.
std::size_t cut_position(const RowLayout& layout, int index, int count) {
  const auto found = std::lower_bound(layout.cuts.begin(), layout.cuts.end(), Slice{index, count},
                                      [](Slice a, Slice b) {
                                        return static_cast<std::int64_t>(a.index) * b.count <
                                               static_cast<std::int64_t>(b.index) * a.count;
                                      });
  if (found == layout.cuts.end() || !same_point(*found, index, count)) {
    throw std::logic_error(
        fmt::format("row layout: {}/{} is no slice boundary of this layer", index, count));
  }
  return static_cast<std::size_t>(found - layout.cuts.begin());
}

struct PieceRange {
  std::size_t begin, end;
};
PieceRange pieces_of(const RowLayout& layout, Slice slice) {
  return {cut_position(layout, slice.index, slice.count),
          cut_position(layout, slice.index + slice.span, slice.count)};
}

std::int64_t piece_rows(const RowLayout& layout, std::int64_t rows, std::size_t piece) {
  return rows_before(rows, layout.cuts[piece + 1]) - rows_before(rows, layout.cuts[piece]);
}

/// What a rank of the world sends, by expert.
const std::vector<std::int64_t>& tokens_of(const LayerRouting& routing, const Groups& groups,
                                           int rank) {
  return routing.tokens[static_cast<std::size_t>(rank_in_stage(groups, rank))];
}

/// [local expert][piece]: rows that `rank` receives.
std::vector<std::vector<std::int64_t>> received_by(const RowLayout& layout,
                                                   const LayerRouting& routing,
                                                   const Groups& groups, int rank) {
  const std::vector<int> sources = members(groups, GroupKind::expert, rank);
  std::vector<std::vector<std::int64_t>> received;
  for (int d = 0; d < layout.local_experts; ++d) {
    const auto expert = static_cast<std::size_t>(layout.self * layout.local_experts + d);
    std::vector<std::int64_t> pieces(layout.cuts.size() - 1);
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      for (const int source : sources) {
        pieces[piece] += piece_rows(layout, tokens_of(routing, groups, source)[expert], piece);
      }
    }
    received.push_back(std::move(pieces));
  }
  return received;
}

/// [local expert][piece + 1]: where pieces begin that hold these members' rows, one behind the other.
std::vector<std::vector<std::int64_t>> offsets_of(
    std::span<const std::vector<std::vector<std::int64_t>>> members, int local_experts,
    std::size_t pieces) {
  std::vector<std::vector<std::int64_t>> result;
  std::int64_t row = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(local_experts); ++d) {
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

/// The received rows of the slice in pieces, once per sharing rank, `stride` rows further for each.
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

}  // namespace

std::vector<Slice> slice_cuts(const Program& program, int layer) {
  std::vector<Slice> cuts{{0, 1}, {1, 1}};
  const auto add = [&](int index, int count) {
    const int divisor = std::gcd(index, count);
    cuts.push_back({index / divisor, count / divisor});
  };
  for (const Op& op : program.ops) {
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) {
        const Tensor& tensor = program.tensors[use.tensor];
        if (tensor.rows_are == Rows::fixed || tensor.layer != layer) continue;
        add(use.slice.index, use.slice.count);
        add(use.slice.index + use.slice.span, use.slice.count);
      }
    }
  }
  std::sort(cuts.begin(), cuts.end(), [](Slice a, Slice b) {
    return static_cast<std::int64_t>(a.index) * b.count <
           static_cast<std::int64_t>(b.index) * a.count;
  });
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

RowLayout make_row_layout(const LayerRouting& routing, const Groups& groups, int rank,
                          std::vector<Slice> cuts) {
  const std::vector<int> group = members(groups, GroupKind::expert, rank);
  if (static_cast<int>(routing.tokens.size()) != stage_ranks(groups) ||
      routing.experts % groups.layout.expert != 0) {
    throw std::invalid_argument(fmt::format(
        "row layout of layer {}: routing of {} ranks and {} experts, {} ranks in groups of {}",
        routing.layer, routing.tokens.size(), routing.experts, stage_ranks(groups),
        groups.layout.expert));
  }
  RowLayout layout;
  layout.experts = routing.experts;
  layout.local_experts = routing.experts / groups.layout.expert;
  layout.cuts = std::move(cuts);
  layout.self = index_in_group(groups, GroupKind::expert, rank);
  layout.sent = tokens_of(routing, groups, rank);
  for (const int source : group) {
    const auto first =
        tokens_of(routing, groups, source).begin() + layout.self * layout.local_experts;
    layout.received.emplace_back(first, first + layout.local_experts);
  }

  layout.sent_offset.assign(1, 0);
  for (const std::int64_t rows : layout.sent) {
    layout.sent_offset.push_back(layout.sent_offset.back() + rows);
  }

  for (const int member : members(groups, GroupKind::expert_sharded, rank)) {
    layout.shared_rows.push_back(received_by(layout, routing, groups, member));
  }
  const std::span all(layout.shared_rows);
  const auto own =
      static_cast<std::size_t>(index_in_group(groups, GroupKind::expert_sharded, rank));
  const std::size_t pieces = layout.cuts.size() - 1;
  layout.piece_offset = offsets_of(all.subspan(own, 1), layout.local_experts, pieces);
  layout.gathered_offset = offsets_of(all, layout.local_experts, pieces);
  return layout;
}

std::int64_t sent_rows(const RowLayout& layout) { return layout.sent_offset.back(); }
std::int64_t received_rows(const RowLayout& layout) { return layout.piece_offset.back().back(); }
std::int64_t gathered_rows(const RowLayout& layout) { return layout.gathered_offset.back().back(); }

std::int64_t sent_rows(const RowLayout& layout, Slice slice) {
  std::int64_t rows = 0;
  for (const std::int64_t n : layout.sent) rows += slice_end(n, slice) - slice_begin(n, slice);
  return rows;
}

std::int64_t received_rows(const RowLayout& layout, Slice slice) {
  return rows_in(expert_rows(layout, slice));
}

std::int64_t gathered_rows(const RowLayout& layout, Slice slice) {
  return rows_in(gathered_expert_rows(layout, slice));
}

std::vector<RowRange> expert_rows(const RowLayout& layout, Slice slice) {
  return ranges_of(layout.piece_offset, pieces_of(layout, slice));
}

std::vector<RowRange> gathered_expert_rows(const RowLayout& layout, Slice slice) {
  return ranges_of(layout.gathered_offset, pieces_of(layout, slice));
}

std::vector<Segment> sent_segments(const RowLayout& layout, Slice slice) {
  const PieceRange pieces = pieces_of(layout, slice);
  const auto& counts = layout.sent;
  std::vector<Segment> segments;
  for (int expert = 0; expert < layout.experts; ++expert) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      segments.push_back(
          {expert / layout.local_experts,
           layout.sent_offset[expert] + rows_before(counts[expert], layout.cuts[piece]),
           piece_rows(layout, counts[expert], piece)});
    }
  }
  return segments;
}

std::vector<Segment> received_segments(const RowLayout& layout, Slice slice) {
  const PieceRange pieces = pieces_of(layout, slice);
  std::vector<Segment> segments;
  for (int d = 0; d < layout.local_experts; ++d) {
    for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
      std::int64_t row = layout.piece_offset[d][piece];
      for (int source = 0; source < static_cast<int>(layout.received.size()); ++source) {
        const std::int64_t rows = piece_rows(layout, layout.received[source][d], piece);
        segments.push_back({source, row, rows});
        row += rows;
      }
    }
  }
  return segments;
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
