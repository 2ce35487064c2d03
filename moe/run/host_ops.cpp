#include "moe/run/host_ops.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "moe/run/device_errors.h"
#include "moe/run/prepare.h"
#include "moe/run/stream_thread.h"

namespace moe {
namespace {

/// Adds up the routing of one micro-batch part after part. `part.asked` includes the copies asked
/// for in earlier parts.
void add_part(Routing& routing, LayerRouting part, bool cut, std::int64_t& dropped) {
  const auto all = std::find_if(routing.layers.begin(), routing.layers.end(), [&](const auto& one) {
    return one.layer == part.layer && one.micro_batch == part.micro_batch;
  });
  const bool first = all == routing.layers.end();
  if (!first) part.by_part = std::move(all->by_part);
  if (cut) part.by_part.push_back(part.tokens);
  for (std::size_t rank = 0; rank < part.tokens.size(); ++rank) {
    for (std::size_t e = 0; e < part.tokens[rank].size(); ++e) {
      dropped += part.asked[rank][e] - (first ? 0 : all->asked[rank][e]) - part.tokens[rank][e];
      if (!first) part.tokens[rank][e] += all->tokens[rank][e];
    }
  }
  if (first) {
    routing.layers.push_back(std::move(part));
  } else {
    *all = std::move(part);
  }
}

/// All ranks of the stage tell each other their counts.
LayerRouting gather_counts(const ExchangeCounts& kind, RunState& state, int index) {
  const Op& op = state.op(index);
  const auto experts = static_cast<std::size_t>(kind.experts);
  const BoundOp& bound = state.prepared_op(index).bound;
  std::vector<std::int32_t> offsets(experts + 1), mine(2 * experts);
  const auto fetched = [](std::span<std::int32_t> host, const View& view) {
    return HostCopy{std::as_writable_bytes(host), static_cast<const std::byte*>(view.data)};
  };
  const std::array copies{fetched(offsets, bound.reads[0]),
                          fetched(std::span(mine).subspan(experts), bound.reads[1])};
  state.backend.download_all(copies, Stream::host);
  for (std::size_t e = 0; e < experts; ++e) mine[e] = offsets[e + 1] - offsets[e];

  const auto ranks = static_cast<std::size_t>(stage_ranks(state.groups));
  std::vector<std::int32_t> all(mine.size() * ranks);
  Communicator& group = *state.communicators.at({kind.group, op.stream});
  const std::int64_t before = group.sent_bytes();
  group.all_gather(mine.data(), all.data(), static_cast<std::int64_t>(mine.size()), DType::i32,
                   call_context(state, op));
  state.result.sent_bytes[index] = group.sent_bytes() - before;

  LayerRouting routing{op.layer, kind.experts, {}, op.micro_batch};
  std::vector<std::int32_t> demand(experts);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::int32_t* kept = all.data() + r * 2 * experts;
    routing.tokens.emplace_back(kept, kept + experts);
    routing.asked.emplace_back(kept + experts, kept + 2 * experts);
    for (std::size_t e = 0; e < experts; ++e) demand[e] += kept[experts + e];
  }
  state.backend.post(static_cast<std::byte*>(bound.writes[0].data),
                     std::as_bytes(std::span(demand)), Stream::host);
  state.end_marks[static_cast<std::size_t>(index)] = state.backend.untimed_mark(Stream::host);
  return routing;
}

/// The result of the iteration tells the copies that were kept and dropped.
void record(RunState& state, LayerRouting routing, const Op& op) {
  add_part(state.result.routing, std::move(routing), !is_whole(op.part), state.result.dropped);
}

void carry_out(const ExchangeCounts& kind, RunState& state, int index) {
  const Op& op = state.op(index);
  LayerRouting routing = gather_counts(kind, state, index);
  const RowHandling& handling = state.row_handling.at(op.layer);
  state.binding.layouts.insert_or_assign(
      routed_layer(op), make_row_layout(routing, state.groups, state.world.rank, handling));
  record(state, std::move(routing), op);
}
void carry_out(const GatherLoads& kind, RunState& state, int index) {
  record(state, gather_counts(kind, state, index), state.op(index));
}

/// Decides whether this iteration updates parameters, once the losses of the stage exist. A stage
/// without losses takes part too, since the ranks of all stages decide together.
void decide_update(RunState& state) {
  constexpr double kForever_s = 1e9;  // the streams that it waits for have limits of their own
  const int decision = state.decision();
  if (state.before_update) {
    state.progress.prepared({&decision, 1});
    const auto turn = state.progress.await(decision, state.loss_ops, {}, kForever_s);
    if (turn.verdict != Progress::Verdict::go) return;
    for (const int op : state.loss_ops) {
      naming_op(state, op, [&] { state.backend.reach(state.end_marks[op]); });
    }
    state.passes_over_updates = !state.before_update();
  }
  state.progress.ended(decision);
}

}  // namespace

void run_host(RunState& state) {
  prepare(state);
  // A stage without losses decides last, since the losses of other stages may wait for its host
  // ops.
  bool decided = false;
  for (const int index : state.rule.queues[static_cast<std::size_t>(Stream::host)]) {
    if (!decided && !state.loss_ops.empty() && index > state.loss_ops.back()) {
      decide_update(state);
      decided = true;
    }
    if (!await_turn(state, index)) return;
    const auto position = static_cast<std::size_t>(index);
    for (const int earlier : state.waits_for[position]) {
      naming_op(state, earlier, [&] { state.backend.reach(state.end_marks[earlier]); });
    }
    state.host_times[position].first = now_s();
    std::visit(
        [&](const auto& kind) {
          if constexpr (std::decay_t<decltype(kind)>::facts.executor == Executor::host) {
            naming_op(state, index, [&] { carry_out(kind, state, index); });
          } else {
            throw std::logic_error(state.op(index).name + ": the host does not carry this op out");
          }
        },
        state.op(index).kind);
    state.host_times[position].second = now_s();
    if (state.after_op) {
      state.backend.reach(state.end_marks[position]);
      state.after_op(state.prepared_op(index).bound);
    }
    state.progress.ended(index);
    prepare(state, routed_layer(state.op(index)));
  }
  if (!decided) decide_update(state);
}

}  // namespace moe
