#include "moe/rows/leg.h"

#include <stdexcept>

namespace moe {
namespace {

/// The rows of one piece that one source sends to one expert.
struct Run {
  int expert = 0;
  std::size_t piece = 0;
  int source = 0;       ///< member of the expert group
  int destination = 0;  ///< likewise
};

[[noreturn]] void throw_no_end() {
  throw std::logic_error("leg: no leg begins or ends with rows of this kind");
}

/// The member of the expert group that holds the run.
int holder(const RowLayout& layout, Rows rows, const Run& run) {
  const ExpertNodes& nodes = layout.nodes;
  const auto source = static_cast<std::size_t>(run.source);
  const auto to = static_cast<std::size_t>(run.destination);
  const auto on_node = [&](std::size_t of, int place) {
    return nodes.members.at(static_cast<std::size_t>(nodes.node.at(of)))
        .at(static_cast<std::size_t>(place));
  };
  switch (rows) {
    case Rows::sent:
      return run.source;
    case Rows::relayed:
      return on_node(source, nodes.place.at(to));
    case Rows::leader_sent:
      return on_node(source, 0);
    case Rows::leader_received:
      return on_node(to, 0);
    case Rows::received:
      return run.destination;
    case Rows::fixed:
    case Rows::gathered:
      break;
  }
  throw_no_end();
}

/// How many runs lie before this one at its holder, empty ones included.
std::int64_t position(const RowLayout& layout, Rows rows, const Run& run) {
  const ExpertNodes& nodes = layout.nodes;
  const auto source = static_cast<std::size_t>(run.source);
  const auto to = static_cast<std::size_t>(run.destination);
  const int local = slot_of(layout.slots, run.destination, run.expert);
  const int slots = slot_count(layout.slots);
  const auto on_node = [&] {
    return static_cast<int>(
        nodes.members.at(static_cast<std::size_t>(nodes.node.at(source))).size());
  };
  const auto everybody = static_cast<int>(layout.received.size());
  const auto count = [&](int expert, int of_source, int sources) {
    const auto pieces = static_cast<std::int64_t>(layout.cuts.size() - 1);
    return (expert * pieces + static_cast<std::int64_t>(run.piece)) * sources + of_source;
  };
  switch (rows) {
    case Rows::sent:
      return count(sent_before(layout.slots, run.expert, run.destination), 0, 1);
    case Rows::relayed:
      return count(nodes.before.at(to) * slots + local, nodes.place.at(source), on_node());
    case Rows::leader_sent:
      return count(run.destination * slots + local, nodes.place.at(source), on_node());
    case Rows::leader_received:
      return count(nodes.place.at(to) * slots + local, run.source, everybody);
    case Rows::received:
      return count(local, run.source, everybody);
    case Rows::fixed:
    case Rows::gathered:
      break;
  }
  throw_no_end();
}

int index_of(const RowLayout& layout, GroupKind group, int member) {
  const auto i = static_cast<std::size_t>(member);
  switch (group) {
    case GroupKind::expert:
      return member;
    case GroupKind::expert_node:
      return layout.nodes.place.at(i);
    case GroupKind::expert_across:
    case GroupKind::expert_leaders:
      return layout.nodes.before.at(i);
    case GroupKind::stage:
    case GroupKind::expert_sharded:
    case GroupKind::expert_data:
    case GroupKind::tensor:
    case GroupKind::data:
    case GroupKind::even_boundary:
    case GroupKind::odd_boundary:
    case GroupKind::ends:
    case GroupKind::world:
      break;
  }
  throw std::logic_error("leg: no leg takes place in a group of this kind");
}

/// Calls visit(run, first row, rows) for the runs of the slice that this rank holds. They come in
/// one order, wherever they lie: by destination, its slot, piece and source.
template <class Visit>
void visit_runs(const RowLayout& layout, Rows rows, Slice slice, const Visit& visit) {
  const PieceRange pieces = pieces_of(layout, slice);
  switch (rows) {
    case Rows::sent:
      for (int member = 0; member < static_cast<int>(layout.received.size()); ++member) {
        for (int slot = 0; slot < slot_count(layout.slots); ++slot) {
          const int expert = expert_in(layout.slots, member, slot);
          if (expert < 0) continue;
          if (!may_send(layout.slots, layout.self, expert, member)) continue;
          for (const auto& [begin, pair] : sent_to(layout, expert)) {
            if (pair.destination != member) continue;
            for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
              visit(Run{expert, piece, layout.self, member},
                    begin + rows_before(layout, pair, layout.cuts[piece]),
                    piece_rows(layout, pair, piece));
            }
          }
        }
      }
      return;
    case Rows::received:
      for (int local = 0; local < slot_count(layout.slots); ++local) {
        const auto d = static_cast<std::size_t>(local);
        const int expert = expert_in(layout.slots, layout.self, local);
        if (expert < 0) continue;
        for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
          std::int64_t row = layout.piece_offset[d][piece];
          for (std::size_t source = 0; source < layout.received.size(); ++source) {
            const auto from = static_cast<int>(source);
            if (!may_send(layout.slots, from, expert, layout.self)) continue;
            const std::int64_t count =
                piece_rows(layout, {layout.received[source][d], from, layout.self}, piece);
            visit(Run{expert, piece, from, layout.self}, row, count);
            row += count;
          }
        }
      }
      return;
    case Rows::relayed:
    case Rows::leader_sent:
    case Rows::leader_received: {
      const RelayedRows& held = layout.relayed.at(rows);
      for (std::size_t t = 0; t < held.targets.size(); ++t) {
        const auto& [member, slot, expert] = held.targets[t];
        for (std::size_t piece = pieces.begin; piece < pieces.end; ++piece) {
          std::int64_t row = held.offset[t][piece];
          for (std::size_t s = 0; s < held.sources.size(); ++s) {
            if (!may_send(layout.slots, held.sources[s], expert, member)) continue;
            const std::int64_t count =
                piece_rows(layout, {held.tokens[t][s], held.sources[s], member}, piece);
            visit(Run{expert, piece, held.sources[s], member}, row, count);
            row += count;
          }
        }
      }
      return;
    }
    case Rows::fixed:
    case Rows::gathered:
      break;
  }
  throw_no_end();
}

/// The segments of this rank's rows of kind `here`, each with the peer that holds them as rows of
/// kind `there`. Both ends see the same neighbours, and so make the same segments.
std::vector<Segment> one_end(const RowLayout& layout, Slice slice, Rows here, Rows there,
                             GroupKind group) {
  std::vector<Segment> segments;
  std::int64_t last_here = -1, last_there = -1;
  int last_peer = -1;
  visit_runs(layout, here, slice, [&](const Run& run, std::int64_t begin, std::int64_t rows) {
    const int peer = holder(layout, there, run);
    const std::int64_t at_here = position(layout, here, run),
                       at_there = position(layout, there, run);
    if (peer == last_peer && at_here == last_here + 1 && at_there == last_there + 1) {
      segments.back().rows += rows;
    } else {
      segments.push_back({index_of(layout, group, peer), begin, rows});
    }
    last_peer = peer;
    last_here = at_here;
    last_there = at_there;
  });
  return segments;
}

}  // namespace

std::vector<Segment> leg_sends(const RowLayout& layout, Slice slice, Rows from, Rows to,
                               GroupKind group) {
  return one_end(layout, slice, from, to, group);
}

std::vector<Segment> leg_receives(const RowLayout& layout, Slice slice, Rows from, Rows to,
                                  GroupKind group) {
  return one_end(layout, slice, to, from, group);
}

std::vector<Segment> sent_segments(const RowLayout& layout, Slice slice) {
  return leg_sends(layout, slice, Rows::sent, Rows::received, GroupKind::expert);
}

std::vector<Segment> received_segments(const RowLayout& layout, Slice slice) {
  return leg_receives(layout, slice, Rows::sent, Rows::received, GroupKind::expert);
}

}  // namespace moe
