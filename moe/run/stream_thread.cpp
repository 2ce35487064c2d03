#include "moe/run/stream_thread.h"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>

#include "moe/errors.h"
#include "moe/run/collectives.h"
#include "moe/run/core_sharing.h"

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

/// Issues the op and, where that is asked for, waits for its end. The error of a device names it.
void issue(RunState& state, int op, Stream stream) {
  const auto index = static_cast<std::size_t>(op);
  try {
    // Only ops of the update phase come after the decision, and only they may read it.
    if (state.op(op).phase != Phase::update || !state.passes_over_updates) carry_out(state, op);
    state.end_marks[index] = end_mark(state, op, stream);
    if (state.after_op || state.options.check_each_op) state.backend.reach(state.end_marks[index]);
  } catch (const CudaError& error) {
    throw CudaError(
        fmt::format("rank {}: {}{}: {}", state.world.rank, describe(state.op(op)),
                    state.options.check_each_op
                        ? ""
                        : ", or an op before it that had not ended (--check-each-op tells which)",
                    error.what()));
  }
}

void run_queue(RunState& state, Stream stream) {
  for (const int op : state.rule.queues[static_cast<std::size_t>(stream)]) {
    if (!await_turn(state, op)) return;
    const auto index = static_cast<std::size_t>(op);
    for (const int earlier : state.waits_for[index]) {
      state.backend.wait(stream, state.end_marks[earlier]);
    }
    if (state.options.record_spans) state.begin_marks[index] = state.backend.mark(stream);
    issue(state, op, stream);
    if (state.after_op) state.after_op(state.prepared_op(op).bound);
    state.progress.ended(op);
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
