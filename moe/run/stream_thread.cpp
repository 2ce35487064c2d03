#include "moe/run/stream_thread.h"

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "moe/errors.h"
#include "moe/run/collectives.h"
#include "moe/run/core_sharing.h"
#include "moe/run/device_errors.h"

namespace moe {
namespace {

void carry_out(RunState& state, int index) {
  switch (facts_of(state.op(index)).executor) {
    case Executor::kernel:
      state.backend.execute(state.prepared_op(index).bound);
      return;
    case Executor::communicator:
      communicate(state, index);
      return;
    case Executor::host:
      break;
  }
  throw std::logic_error(state.op(index).name + ": the host carries this op out");
}

/// The end of an op, with a time where the result tells it: of each op, or of the last.
Mark end_mark(RunState& state, int op, Stream stream) {
  const std::vector<int>& queue = state.rule.queues[static_cast<std::size_t>(stream)];
  if (state.options.record_spans || op == queue.back()) return state.backend.mark(stream);
  const bool needed = state.is_waited_for[static_cast<std::size_t>(op)] || state.after_op ||
                      state.options.check_each_op;
  return needed ? state.backend.untimed_mark(stream) : Mark{};
}

/// The ops from place `at` of the queue on that are issued together; only one where each op is
/// timed or waited for.
std::span<const int> issued_together(const RunState& state, const std::vector<int>& queue,
                                     std::size_t at) {
  const bool alone =
      state.options.record_spans || state.options.check_each_op || state.after_op != nullptr;
  const int count = alone ? 1 : state.issued_together[static_cast<std::size_t>(queue[at])];
  return std::span(queue).subspan(at, static_cast<std::size_t>(count));
}

void carry_out(RunState& state, std::span<const int> ops) {
  if (ops.size() == 1) return carry_out(state, ops.front());
  std::vector<const BoundOp*> bound;
  for (const int op : ops) bound.push_back(&state.prepared_op(op).bound);
  state.backend.execute_together(bound);
}

/// Issues the ops and, where that is asked for, waits for their end.
void issue(RunState& state, std::span<const int> ops, Stream stream) {
  const Op& op = state.op(ops.front());
  Mark& end = state.end_marks[static_cast<std::size_t>(ops.back())];
  naming_ops(state, ops, [&] {
    // Only ops of the update phase come after the decision, and only they may read it.
    if (op.phase != Phase::update || !state.passes_over_updates) carry_out(state, ops);
    end = end_mark(state, ops.back(), stream);
    if (state.after_op || state.options.check_each_op) state.backend.reach(end);
  });
}

void run_queue(RunState& state, Stream stream) {
  const std::vector<int>& queue = state.rule.queues[static_cast<std::size_t>(stream)];
  for (std::size_t at = 0; at < queue.size();) {
    const std::span<const int> ops = issued_together(state, queue, at);
    for (const int op : ops) {
      if (!await_turn(state, op)) return;
      for (const int earlier : state.waits_for[static_cast<std::size_t>(op)]) {
        state.backend.wait(stream, state.end_marks[earlier]);
      }
    }
    const int first = ops.front();
    if (state.options.record_spans) {
      state.begin_marks[static_cast<std::size_t>(first)] = state.backend.mark(stream);
    }
    issue(state, ops, stream);
    if (state.after_op) state.after_op(state.prepared_op(first).bound);
    for (const int op : ops) state.progress.ended(op);
    at += ops.size();
  }
}

}  // namespace

bool await_turn(RunState& state, int op) {
  // Twice the limit of a call, so that a collective that hangs reports first.
  const double limit_s = 2 * state.options.time_limit_s;
  const auto index = static_cast<std::size_t>(op);
  const Progress::Turn turn =
      state.progress.await(op, state.waits_for[index], state.issued_before[index], limit_s);
  if (turn.verdict != Progress::Verdict::timed_out) return turn.verdict == Progress::Verdict::go;
  throw TimeLimit(fmt::format("rank {}: {} waited {} s for {}", state.world.rank,
                              describe(state.op(op)), limit_s,
                              turn.missing < 0 ? std::string("the routing of its layer")
                              : turn.missing == state.decision()
                                  ? std::string("the losses of all ranks")
                                  : fmt::format("{} on stream {}", describe(state.op(turn.missing)),
                                                stream_name(state.op(turn.missing).stream))));
}

void drive_stream(RunState& state, Stream stream) {
  share_core_as(state.backend, stream);
  for (int seen = 0; (seen = state.progress.await_iteration(seen)) >= 0;) {
    try {
      run_queue(state, stream);
    } catch (...) {
      state.progress.failed(std::current_exception());
    }
    state.progress.leave_iteration();
  }
}

}  // namespace moe
