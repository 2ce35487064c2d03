#include "moe/run/collectives.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "moe/communicator/issue_order.h"

namespace moe {
namespace {

/// Contiguous elements that one all-reduce call sums.
struct Buffer {
  std::byte* data;
  std::int64_t count;
};

/// The rows that the op writes, as ranges; ranges that adjoin in the arena are one.
std::vector<Buffer> adjoining(const RunState& state, int index) {
  const BoundOp& bound = state.prepared[index].bound;
  std::vector<Buffer> buffers;
  std::byte* end = nullptr;  // end of the last buffer, with its padding where its tensor ends there
  for (std::size_t i = 0; i < bound.writes.size(); ++i) {
    const View& view = bound.writes[i];
    const Use& use = bound.op->writes[i];
    const std::int64_t row_bytes = view.columns * bytes_of(view.dtype);
    const std::int64_t first = slice_begin(view.rows, use.slice),
                       last = slice_end(view.rows, use.slice);
    if (first == last) continue;
    std::byte* data = static_cast<std::byte*>(view.data) + first * row_bytes;
    const std::int64_t count = (last - first) * view.columns;
    if (data == end) {
      buffers.back().count = (data - buffers.back().data) / bytes_of(view.dtype) + count;
    } else {
      buffers.push_back({data, count});
    }
    end = last == view.rows ? state.arena + state.plan->end(use.tensor) : nullptr;
  }
  return buffers;
}

/// Notes when the rows of `receive` came from each member of `group`, after the exchange of them.
void note_arrivals(RunState& state, int index, const Communicator& group,
                   std::span<const Segment> receive, std::int64_t row_bytes) {
  if (!state.options.record_spans || group.arrived_s().empty()) return;
  const std::vector<int> ranks =
      members(state.groups, *group_of(state.op(index)), state.world.rank);
  std::vector<std::int64_t> rows(ranks.size());
  for (const Segment& segment : receive)
    rows[static_cast<std::size_t>(segment.peer)] += segment.rows;
  for (std::size_t member = 0; member < ranks.size(); ++member) {
    const double at_s = group.arrived_s()[member];
    if (static_cast<int>(member) == group.rank || rows[member] == 0 || at_s == 0) continue;
    state.prepared_op(index).arrivals.push_back(
        {.from = ranks[member], .bytes = rows[member] * row_bytes, .at_s = at_s});
  }
}

/// A rank that exchanges rows with itself has them where they belong (memory_owners.h). Throws
/// std::logic_error where they belong elsewhere.
bool are_in_place(const PreparedOp& prepared) {
  if (prepared.bound.reads[0].data != prepared.bound.writes[0].data) return false;
  const auto rows_of = [](const std::vector<Segment>& segments) {
    std::vector<RowRange> rows;  // in order; ranges that adjoin are one
    for (const Segment& segment : segments) {
      if (segment.rows == 0) continue;
      if (!rows.empty() && rows.back().begin + rows.back().rows == segment.begin) {
        rows.back().rows += segment.rows;
      } else {
        rows.push_back({segment.begin, segment.rows});
      }
    }
    return rows;
  };
  const auto same = [](const RowRange& a, const RowRange& b) {
    return a.begin == b.begin && a.rows == b.rows;
  };
  if (!std::ranges::equal(rows_of(prepared.send), rows_of(prepared.receive), same)) {
    throw std::logic_error(prepared.bound.op->name + ": rows change their places in one memory");
  }
  return true;
}

template <ExchangesRows Kind>
void carry_out(const Kind&, RunState& state, int index, Communicator& group) {
  const PreparedOp& prepared = state.prepared_op(index);
  if (are_in_place(prepared)) return;
  const View& from = prepared.bound.reads[0];
  group.all_to_all_v(static_cast<const std::byte*>(from.data), prepared.send,
                     static_cast<std::byte*>(prepared.bound.writes[0].data), prepared.receive,
                     from.columns * bytes_of(from.dtype), call_context(state, state.op(index)));
  note_arrivals(state, index, group, prepared.receive, from.columns * bytes_of(from.dtype));
}

template <MovesExperts Kind>
void carry_out(const Kind& kind, RunState& state, int index, Communicator& group) {
  const PreparedOp& prepared = state.prepared_op(index);
  const DType dtype = prepared.bound.writes[0].dtype;
  const CallContext context = call_context(state, state.op(index));
  if (!kind.on_rings()) {
    group.all_to_all_v(state.arena, prepared.send, state.arena, prepared.receive, bytes_of(dtype),
                       context);
    note_arrivals(state, index, group, prepared.receive, bytes_of(dtype));
  } else if constexpr (std::is_same_v<Kind, SendExperts>) {
    group.chain_broadcast(state.arena, prepared.chains, dtype, context);
  } else {
    group.chain_reduce(state.arena, prepared.chains, dtype, context);
  }
}

void carry_out(const AllGather&, RunState& state, int index, Communicator& group) {
  const BoundOp& bound = state.prepared_op(index).bound;
  const View& from = bound.reads[0];
  group.all_gather(from.data, bound.writes[0].data, from.rows * from.columns, from.dtype,
                   call_context(state, state.op(index)));
}
void carry_out(const ReduceScatter&, RunState& state, int index, Communicator& group) {
  const BoundOp& bound = state.prepared_op(index).bound;
  const View& to = bound.writes[0];
  group.reduce_scatter(bound.reads[0].data, to.data, to.rows * to.columns, to.dtype,
                       call_context(state, state.op(index)));
}

void carry_out(const PassOn&, RunState& state, int index, Communicator& group) {
  const Op& op = state.op(index);
  const BoundOp& bound = state.prepared_op(index).bound;
  const bool sends = op.stage == stage_of(state.groups, state.world.rank);
  const View& rows = sends ? bound.reads[0] : bound.writes[0];
  auto* const data = static_cast<std::byte*>(rows.data);
  const Segment other{1 - group.rank, 0, rows.rows};
  const std::span<const Segment> all(&other, 1), none;
  group.all_to_all_v(data, sends ? all : none, data, sends ? none : all,
                     rows.columns * bytes_of(rows.dtype), call_context(state, op));
  note_arrivals(state, index, group, sends ? none : all, rows.columns * bytes_of(rows.dtype));
}

void carry_out(const ReduceNorm&, RunState& state, int index, Communicator& group) {
  const View& sum = state.prepared_op(index).bound.writes[0];
  group.all_reduce(sum.data, 1, sum.dtype, call_context(state, state.op(index)));
}

void carry_out(const ReduceTied&, RunState& state, int index, Communicator& group) {
  const View& gradient = state.prepared_op(index).bound.writes[0];
  const std::int64_t elements = gradient.rows * gradient.columns;
  if (elements == 0) return;  // no share of a small table
  group.all_reduce(gradient.data, elements, gradient.dtype, call_context(state, state.op(index)));
}

void carry_out(const AllReduce&, RunState& state, int index, Communicator& group) {
  const DType dtype = state.prepared_op(index).bound.writes[0].dtype;
  for (const Buffer& buffer : adjoining(state, index)) {
    group.all_reduce(buffer.data, buffer.count, dtype, call_context(state, state.op(index)));
  }
}

/// What the op writes, as elements of the arena.
std::vector<ElementRange> written_elements(const BoundOp& bound, const std::byte* arena) {
  std::vector<ElementRange> arrays;
  for (const View& view : bound.writes) {
    const std::int64_t before = static_cast<const std::byte*>(view.data) - arena;
    arrays.push_back({before / bytes_of(view.dtype), view.rows * view.columns});
  }
  return arrays;
}

void carry_out(const ReduceShares&, RunState& state, int index, Communicator& group) {
  const BoundOp& bound = state.prepared_op(index).bound;
  group.reduce_shares(state.arena, written_elements(bound, state.arena), bound.writes[0].dtype,
                      call_context(state, state.op(index)));
}

void carry_out(const GatherShares&, RunState& state, int index, Communicator& group) {
  const BoundOp& bound = state.prepared_op(index).bound;
  group.gather_shares(state.arena, written_elements(bound, state.arena), bound.writes[0].dtype,
                      call_context(state, state.op(index)));
}

}  // namespace

void make_communicators(RunState& state) {
  const bool on_device = state.backend.native_stream(Stream::compute) != nullptr;
  std::set<GroupOnStream> wanted;
  for (const Op& op : state.whole.ops) {
    if (const auto group = group_of(op)) wanted.insert({*group, op.stream});
  }
  for (const GroupOnStream& key : wanted) {
    if (state.communicators.contains(key)) continue;
    const std::vector<int> ranks = members(state.groups, key.first, state.world.rank);
    const bool for_device = on_device && key.second != Stream::host;
    if (for_device && state.options.device_world) {
      state.communicators[key] = state.options.device_world->split(ranks);
      // Its first call takes memory and time, which are neither left nor measured later.
      state.communicators[key]->barrier({state.backend.native_stream(key.second), key.second,
                                         state.options.time_limit_s, "warm-up of a communicator"});
    } else {
      state.communicators[key] = state.world.split(ranks);
      if (for_device) {
        state.communicators[key] =
            make_staged_communicator(std::move(state.communicators[key]), state.backend);
      }
    }
  }

  state.issued_before.assign(state.program.ops.size(), {});
  if (!on_device || !state.options.device_world) return;
  if (!state.options.device_world->needs_issue_order()) return;
  const std::vector<int> before = issued_before(state.program);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] >= 0) state.issued_before[i].push_back(before[i]);
  }
}

void communicate(RunState& state, int index) {
  const Op& op = state.op(index);
  Communicator& group = *state.communicators.at({group_of(op).value(), op.stream});
  const std::int64_t before = group.sent_bytes();
  std::visit(
      [&](const auto& kind) {
        if constexpr (std::decay_t<decltype(kind)>::facts.executor == Executor::communicator) {
          carry_out(kind, state, index, group);
        } else {
          throw std::logic_error(op.name + ": no communicator carries this op out");
        }
      },
      op.kind);
  state.result.sent_bytes[index] = group.sent_bytes() - before;
}

}  // namespace moe
