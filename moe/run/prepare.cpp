#include "moe/run/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "moe/rows/element_share.h"
#include "moe/rows/window.h"
#include "moe/run/collectives.h"

namespace moe {
namespace {

constexpr const char* kWhatToChange =
    "raise --memory-limit where there is more memory, lower global_batch or capacity_factor "
    "(dropless has no bound), or use more ranks";

/// Ops that are prepared before streams are told, which then run them while others are prepared.
constexpr std::size_t kToldTogether = 32;

Where on_rank(const RunState& state) { return {.rank = state.world.rank}; }
Where at(const RunState& state, const Op& op) { return {op.name, op.layer, state.world.rank}; }

void check_limit(const RunState& state) {
  const std::int64_t limit = state.options.memory_limit_bytes;
  if (limit == 0 || state.plan->peak_bytes() <= limit) return;
  const int peak_op = state.plan->peak_op();
  const Op* op = peak_op < 0 ? nullptr : &state.op(peak_op);
  throw OutOfMemory(
      fmt::format("rank {}: {} needs {} of arena, {} more than the limit of {}: {}",
                  state.world.rank,
                  op == nullptr ? std::string("the model (parameters, gradients, optimizer states)")
                                : describe(*op),
                  db::format_cell("bytes", state.plan->peak_bytes()),
                  db::format_cell("bytes", state.plan->peak_bytes() - limit),
                  db::format_cell("bytes", limit), kWhatToChange),
      state.plan->peak_bytes(), op == nullptr ? on_rank(state) : at(state, *op));
}

/// The size of the arena. With a capacity the whole plan is known now, and refused now if it
/// exceeds the limit; a dropless plan is bounded by the limit only.
void make_arena(RunState& state) {
  state.plan->advance(state.padded);
  check_limit(state);
  const std::int64_t to_come = state.options.least_arena_bytes;
  const std::int64_t limit = state.options.memory_limit_bytes;
  std::int64_t bytes =
      std::max(state.plan->peak_bytes(), limit > 0 ? std::min(to_come, limit) : to_come);
  if (!state.plan->is_complete()) {
    bytes = limit;
    if (bytes == 0)
      throw std::invalid_argument(
          "run: how many rows a dropless layer has, or one cut along the batch, depends on its "
          "routing: expected a memory limit");
  }
  if (bytes <= state.arena_bytes) return;
  state.arena = state.backend.arena(bytes + TouchedMemory::kGuardBytes);
  state.arena_bytes = bytes;
}

/// A layer whose routing is missing to know the rows of the op; none where all are known.
std::optional<RoutedLayer> layer_lacked(const RunState& state, const Op& op) {
  if (depends_on_counts(op) && !state.binding.layouts.contains(routed_layer(op))) {
    return routed_layer(op);
  }
  for (const auto* uses : {&op.reads, &op.writes}) {
    for (const Use& use : *uses) {
      const Tensor& tensor = state.program.tensors[use.tensor];
      if (!is_bound(tensor, state.binding)) return routed_layer(tensor);
    }
  }
  return std::nullopt;
}

/// See BoundOp::ranges.
std::vector<RowRange> bound_ranges(const RunState& state, const Op& op, const BoundOp& bound) {
  if (const auto* add = std::get_if<AddReturned>(&op.kind)) {
    std::vector<RowRange> experts;
    const ExpertSlots slots =
        add->slots(state.groups.layout.expert, state.binding, routed_layer(op));
    for (const int expert :
         add->blocks(slots, index_in_group(state.groups, GroupKind::expert, state.world.rank))) {
      experts.push_back({expert, 1});
    }
    return experts;
  }
  for (const auto* uses : {&op.reads, &op.writes}) {
    for (const Use& use : *uses) {
      const Tensor& tensor = state.program.tensors[use.tensor];
      const Rows rows = tensor.rows_are;
      if (rows == Rows::fixed) continue;
      const RowLayout& layout = state.binding.layouts.at(routed_layer(op));
      switch (rows) {
        case Rows::fixed:
        case Rows::relayed:
        case Rows::leader_sent:
        case Rows::leader_received:
          break;
        case Rows::sent:
          return sent_ranges(layout, use.slice);
        case Rows::received:
          return tensor.windows > 1 ? window_rows(expert_rows(layout, use.slice))
                                    : expert_rows(layout, use.slice);
        case Rows::gathered:
          return gathered_expert_rows(layout, use.slice);
      }
    }
  }
  if (op.reads.empty()) return {};  // rows that another stage passes on
  return {{0, bound.reads.front().rows}};
}

/// The segments of experts that this rank sends and receives, in elements of the arena, since all
/// tensors are sent in one call.
template <MovesExperts Kind>
void prepare_moves(const RunState& state, const Kind& kind, PreparedOp& prepared) {
  const int members = group_size(state.groups, kind.group);
  const int self = index_in_group(state.groups, kind.group, state.world.rank);
  const BoundOp& bound = prepared.bound;
  const auto segment = [&](const View& view, std::int64_t rows, int block, int peer) -> Segment {
    const ElementRange part = elements_of(rows, view.columns, block, kind.share);
    const std::int64_t before = static_cast<const std::byte*>(view.data) - state.arena;
    return {peer, before / bytes_of(view.dtype) + part.begin, part.count};
  };
  const ExpertSlots slots = kind.slots(members, state.binding, routed_layer(*bound.op));
  for (const ExpertMove& move : kind.moves(slots)) {
    for (std::size_t i = 0; i < bound.writes.size(); ++i) {
      const std::int64_t rows = kind.block_rows(bound.reads[i].rows, slots);
      if (move.from == self) {
        prepared.send.push_back(segment(bound.reads[i], rows, move.block, move.to));
      }
      if (move.to == self) {
        prepared.receive.push_back(segment(bound.writes[i], rows, move.to_block, move.from));
      }
    }
  }
}

/// The chains of experts that pass this rank, in elements of the arena. Every rank lists them by
/// expert, then tensor.
template <MovesExperts Kind>
void prepare_rings(const RunState& state, const Kind& kind, PreparedOp& prepared) {
  constexpr bool sends = std::is_same_v<Kind, SendExperts>;
  const int members = group_size(state.groups, kind.group);
  const int self = index_in_group(state.groups, kind.group, state.world.rank);
  const BoundOp& bound = prepared.bound;
  const std::size_t tensors = bound.writes.size();
  const ExpertSlots slots = kind.slots(members, state.binding, routed_layer(*bound.op));
  const std::vector<ExpertMove> moves = kind.moves(slots);
  int ranks = 0, home = 0;  // of the ring
  const auto chain = [&](std::size_t tensor, bool root, int block) {
    const View& view = root == sends ? bound.reads[tensor] : bound.writes[tensor];
    const std::int64_t rows = kind.block_rows(bound.reads[tensor].rows, slots);
    const ElementRange part = elements_of(rows, view.columns, block, kind.share);
    const std::int64_t before = static_cast<const std::byte*>(view.data) - state.arena;
    collective::Chain one;
    one.begin = before / bytes_of(view.dtype) + part.begin;
    one.count = part.count;
    one.ranks = ranks;
    one.root = home;
    return one;
  };
  for (std::size_t m = 0; m < moves.size(); ++m) {
    const ExpertMove& move = moves[m];
    const int near = sends ? move.from : move.to, far = sends ? move.to : move.from;
    if (move.hop == 0) {
      home = near;
      ranks = 2;
      while (m + ranks - 1 < moves.size() && moves[m + ranks - 1].hop > 0) ++ranks;
    }
    const int root_block = sends ? move.block : move.to_block;
    const int far_block = sends ? move.to_block : move.block;
    for (std::size_t i = 0; i < tensors; ++i) {
      if (near == self && move.hop == 0) {
        prepared.chains.push_back(chain(i, true, root_block));
        prepared.chains.back().after = far;
      } else if (near == self) {  // the move before has brought it here
        prepared.chains[prepared.chains.size() - tensors + i].after = far;
      } else if (far == self) {
        collective::Chain& one = prepared.chains.emplace_back(chain(i, false, far_block));
        one.before = near;
        one.place = move.hop + 1;
      }
    }
  }
}

PreparedOp prepare_op(const RunState& state, int index) {
  const Op& op = state.op(index);
  const bool by_kernel = facts_of(op).executor == Executor::kernel;
  const auto view = [&](const Use& use) -> View {
    const Tensor& tensor = state.program.tensors[use.tensor];
    std::byte* const begin = tensor.pool == Pool::host
                                 ? host_place(state, use.tensor)
                                 : state.arena + state.plan->offset(use.tensor);
    if (tensor.windows > 1) {
      return {begin, tensor.dtype, rows_of(tensor, use.slice, state.binding), tensor.columns};
    }
    if (!by_kernel || tensor.rows_are != Rows::fixed) {
      return {begin, tensor.dtype, rows_of(tensor, state.binding), tensor.columns};
    }
    if (use.shared_by) {
      const ElementRange own =
          element_share({0, tensor.rows * tensor.columns},
                        index_in_group(state.groups, *use.shared_by, state.world.rank),
                        group_size(state.groups, *use.shared_by));
      return {begin + own.begin * bytes_of(tensor.dtype), tensor.dtype, own.count, 1};
    }
    const std::int64_t row_bytes = tensor.columns * bytes_of(tensor.dtype);
    return {begin + slice_begin(tensor.rows, use.slice) * row_bytes, tensor.dtype,
            rows_of(tensor, use.slice, state.binding), tensor.columns};
  };
  PreparedOp prepared;
  prepared.bound.op = &op;
  for (const Use& use : op.reads) prepared.bound.reads.push_back(view(use));
  for (const Use& use : op.writes) prepared.bound.writes.push_back(view(use));
  std::visit(
      [&](const auto& kind) {
        if constexpr (MovesExperts<std::decay_t<decltype(kind)>>) {
          if (kind.on_rings()) {
            prepare_rings(state, kind, prepared);
          } else {
            prepare_moves(state, kind, prepared);
          }
        }
        if constexpr (ExchangesRows<std::decay_t<decltype(kind)>>) {
          const RowLayout& layout = state.binding.layouts.at(routed_layer(op));
          const auto placed = [&](std::vector<Segment> segments, const Use& use) {
            const Tensor& tensor = state.program.tensors[use.tensor];
            return tensor.windows > 1
                       ? window_segments(std::move(segments), expert_rows(layout, use.slice))
                       : segments;
          };
          prepared.send = placed(kind.sends(layout, op.reads[0].slice), op.reads[0]);
          prepared.receive = placed(kind.receives(layout, op.reads[0].slice), op.writes[0]);
        }
      },
      op.kind);
  prepared.bound.ranges = bound_ranges(state, op, prepared.bound);
  return prepared;
}

bool is_update(const Op& op) {
  return std::holds_alternative<AdamStep>(op.kind) || std::holds_alternative<SgdStep>(op.kind);
}

/// What a device may carry out in one launch.
bool share_a_launch(const Op& before, const Op& op) {
  if (is_update(before)) return is_update(op);
  const bool is_norm =
      std::holds_alternative<LayerNorm>(op.kind) || std::holds_alternative<RmsNorm>(op.kind);
  return is_norm && std::holds_alternative<Add>(before.kind) &&
         before.writes[0].tensor == op.reads[0].tensor;
}

/// See RunState::issued_together.
std::vector<int> issued_together(const RunState& state) {
  const auto may_join = [&](int op) {  // the op before it
    const int before = op - 1;
    return share_a_launch(state.op(before), state.op(op)) &&
           state.op(before).stream == state.op(op).stream &&
           state.op(before).phase == state.op(op).phase &&
           !state.is_waited_for[static_cast<std::size_t>(before)] &&
           std::ranges::all_of(state.waits_for[static_cast<std::size_t>(op)], [&](int earlier) {
             return ends_before(state.rule, earlier, before);
           });
  };
  std::vector<int> together(state.program.ops.size(), 1);
  for (std::size_t op = together.size(); op-- > 1;) {
    if (may_join(static_cast<int>(op))) together[op - 1] = together[op] + 1;
  }
  return together;
}

/// See RunOptions::bytes_left.
void look_what_is_left(RunOptions& options) {
  if (!options.bytes_left) return;
  const std::int64_t left = options.bytes_left();
  std::int64_t& limit = options.memory_limit_bytes;
  if (limit == 0 || left < limit) limit = left;
  options.bytes_left = nullptr;
}

}  // namespace

void adopt(RunState& state, Program program) {
  validate(program);
  state.whole = std::move(program);
  StageProgram stage = stage_program(state.whole, stage_of(state.groups, state.world.rank));
  state.program = std::move(stage.program);
  state.op_of = std::move(stage.op_of);
  state.rule = start_rule(state.program);
  state.waits_for.assign(state.program.ops.size(), {});
  state.row_handling = row_handling(state.program);
  state.padded = padded_rows(state.program, state.groups, state.world.rank);
  for (std::size_t i = 0; i < state.program.ops.size(); ++i) {
    const Op& op = state.program.ops[i];
    for (const int earlier : state.rule.waits_for[i]) {
      if (state.op(earlier).stream != op.stream) state.waits_for[i].push_back(earlier);
    }
  }
  make_communicators(state);
  look_what_is_left(state.options);
  state.loss_ops = loss_ops(state.program);
  state.is_waited_for.assign(state.program.ops.size(), false);
  for (const int op : state.loss_ops) state.is_waited_for[static_cast<std::size_t>(op)] = true;
  for (const std::vector<int>& earlier : state.waits_for) {
    for (const int op : earlier) state.is_waited_for[static_cast<std::size_t>(op)] = true;
  }
  state.issued_together = issued_together(state);
  for (std::size_t i = 0; i < state.program.ops.size(); ++i) {
    const Op& op = state.program.ops[i];
    if (op.phase == Phase::update) state.issued_before[i].push_back(state.decision());
  }
  if (state.plan) state.backend.keep_of_arena(state.plan->activations_begin());
  state.plan.emplace(state.program, state.rule);
  make_arena(state);
  make_host_blocks(state);
}

void reset(RunState& state) {
  const std::size_t count = state.program.ops.size();
  state.result = {};
  state.result.sent_bytes.assign(count, 0);
  state.binding = state.padded;
  state.plan->restart();
  join_host_blocks(state);
  state.placed.clear();
  state.prepared.assign(count, {});
  state.begin_marks.assign(count, 0);
  state.end_marks.assign(count, 0);
  state.host_times.assign(count, {});
  state.backend.forget_marks();
}

void prepare(RunState& state, std::optional<RoutedLayer> told) {
  std::vector<int> candidates = state.plan->advance(state.binding);
  check_limit(state);
  if (state.plan->peak_bytes() > state.arena_bytes) {
    throw OutOfMemory(fmt::format("rank {}: {} planned, the arena holds {}: {}", state.world.rank,
                                  db::format_cell("bytes", state.plan->peak_bytes()),
                                  db::format_cell("bytes", state.arena_bytes), kWhatToChange),
                      state.plan->peak_bytes(), on_rank(state));
  }
  grow_host_blocks(state);
  if (state.touched) {
    state.touched->cover(state.plan->peak_bytes());
    cover_host_blocks(state);
  }

  if (told) {
    const auto waiting = state.placed.extract(*told);
    if (waiting) {
      candidates.insert(candidates.end(), waiting.mapped().begin(), waiting.mapped().end());
    }
  }
  std::vector<int> ready;
  for (const int op : candidates) {
    if (const auto lacked = layer_lacked(state, state.op(op))) {
      state.placed[*lacked].push_back(op);
      continue;
    }
    state.prepared_op(op) = prepare_op(state, op);
    ready.push_back(op);
    if (ready.size() < kToldTogether) continue;
    state.progress.prepared(ready);
    ready.clear();
  }
  state.progress.prepared(ready);
}

}  // namespace moe
