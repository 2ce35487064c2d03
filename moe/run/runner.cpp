#include "moe/run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "moe/run/device_errors.h"
#include "moe/run/host_ops.h"
#include "moe/run/prepare.h"
#include "moe/run/stream_thread.h"
#include "moe/threads.h"

namespace moe {
namespace {

constexpr Stream kDriven[] = {Stream::compute, Stream::inter_node, Stream::intra_node,
                              Stream::copy};

/// Begin and end of every op, or the end of the last op of each stream where spans are not wanted.
void collect_times(RunState& state) {
  IterationResult& result = state.result;
  result.end_s = result.begin_s;
  for (std::size_t stream = 0; stream < state.rule.queues.size(); ++stream) {
    const std::vector<int>& queue = state.rule.queues[stream];
    if (queue.empty()) continue;
    const auto last = static_cast<std::size_t>(queue.back());
    const auto time_of_end = [&] { return state.backend.time_of(state.end_marks[last]); };
    const double end = static_cast<Stream>(stream) == Stream::host
                           ? state.host_times[last].second
                           : naming_op(state, queue.back(), time_of_end);
    result.end_s = std::max(result.end_s, end);
  }
  if (!state.options.record_spans) return;
  for (std::size_t i = 0; i < state.program.ops.size(); ++i) {
    const bool on_host = state.program.ops[i].stream == Stream::host;
    const double begin =
        on_host ? state.host_times[i].first : state.backend.time_of(state.begin_marks[i]);
    const double end =
        on_host ? state.host_times[i].second : state.backend.time_of(state.end_marks[i]);
    result.spans.push_back({state.op_of[i], begin, end - begin});
  }
}

/// As naming_op(), for what is done with a tensor between iterations.
template <class F>
void naming_tensor(const RunState& state, TensorId tensor, const F& f) {
  const std::string& name = state.program.tensors[static_cast<std::size_t>(tensor)].name;
  naming([&] { return fmt::format("rank {}: {}", state.world.rank, name); }, f);
}

/// Collects the times and peaks of the iteration that has just ended.
void collect(RunState& state) {
  IterationResult& result = state.result;
  collect_times(state);
  std::vector<std::int64_t> sent_bytes(state.whole.ops.size());
  for (std::size_t i = 0; i < state.op_of.size(); ++i) {
    sent_bytes[state.op_of[i]] = result.sent_bytes[i];
  }
  result.sent_bytes = std::move(sent_bytes);
  for (std::size_t i = 0; i < state.op_of.size(); ++i) {
    for (Arrival arrival : state.prepared[i].arrivals) {
      arrival.op = state.op_of[i];
      result.arrivals.push_back(arrival);
    }
  }
  result.planned_peak_bytes = state.plan->peak_bytes();
  result.planned_host_peak_bytes = state.plan->peak_bytes(Pool::host);
  const auto end_of = [](const TouchedMemory& touched) {
    return (touched.end_of_touched() + kAlignment - 1) / kAlignment * kAlignment;
  };
  if (state.touched) result.touched_peak_bytes = end_of(*state.touched);
  if (state.touched) result.touched_host_peak_bytes = 0;
  for (std::size_t i = 0; i < state.touched_host.size(); ++i) {
    const std::int64_t end = end_of(state.touched_host[i]);
    const std::int64_t in_plan = end > 0 ? state.host_blocks[i].begin + end : 0;
    std::int64_t& highest = *result.touched_host_peak_bytes;
    highest = std::max(highest, in_plan);
  }
}

}  // namespace

struct Runner::State {
  RunState run;
  std::vector<std::thread> threads;

  State(Groups groups, Backend& backend, Communicator& world, const RunOptions& options)
      : run(std::move(groups), backend, world, options) {}
  ~State() {
    run.progress.stop();
    for (std::thread& thread : threads) thread.join();
  }

  IterationResult iterate(const AfterOp& after_op, bool measure_memory) {
    if (run.progress.has_failed()) {
      throw std::logic_error("run: an earlier iteration of this runner failed");
    }
    reset(run);
    run.after_op = after_op;
    run.touched.reset();
    run.touched_host.clear();
    if (measure_memory) {
      run.touched.emplace(run.backend, run.arena, run.plan->activations_begin());
      for (const HostBlock& block : run.host_blocks)
        run.touched_host.emplace_back(run.backend, block.memory, 0);
    }
    run.result.begin_s = now_s();
    run.passes_over_updates = false;
    run.progress.begin(run.program.ops.size() + 1, static_cast<int>(threads.size()));
    try {
      run_host(run);
    } catch (...) {
      run.progress.failed(std::current_exception());
    }
    run.progress.await_end();
    collect(run);
    return std::move(run.result);
  }
};

Runner::Runner(Program program, Groups groups, Backend& backend, Communicator& world,
               RunOptions options)
    : state_(new State(std::move(groups), backend, world, options)) {
  adopt(state_->run, std::move(program));
  for (const Stream stream : kDriven) {
    state_->threads.push_back(
        start_thread("a stream", [this, stream] { drive_stream(state_->run, stream); }));
  }
}

Runner::~Runner() = default;

const Program& Runner::program() const { return state_->run.program; }
const Program& Runner::whole() const { return state_->run.whole; }
int Runner::rank() const { return state_->run.world.rank; }
int Runner::whole_op(int op) const { return state_->run.op_of.at(static_cast<std::size_t>(op)); }
void Runner::reschedule(Program program) { adopt(state_->run, std::move(program)); }
IterationResult Runner::iterate(bool measure_memory) { return state_->iterate({}, measure_memory); }
IterationResult Runner::iterate_observed(const AfterOp& after_op) {
  return state_->iterate(after_op, false);
}

void Runner::set_before_update(BeforeUpdate before_update) {
  state_->run.before_update = std::move(before_update);
}

void Runner::write(TensorId tensor, std::span<const std::byte> data) { write_at(tensor, 0, data); }
void Runner::read(TensorId tensor, std::span<std::byte> data) const { read_at(tensor, 0, data); }

void Runner::write_at(TensorId tensor, std::int64_t begin, std::span<const std::byte> data) {
  const RunState& run = state_->run;
  naming_tensor(run, tensor, [&] {
    run.backend.upload(run.arena + run.plan->offset(tensor) + begin, data, Stream::compute);
  });
}

void Runner::read_at(TensorId tensor, std::int64_t begin, std::span<std::byte> data) const {
  const RunState& run = state_->run;
  naming_tensor(run, tensor, [&] {
    run.backend.download(data, run.arena + run.plan->offset(tensor) + begin, Stream::host);
  });
}

void Runner::fill(TensorId tensor, const InitialValues& values) {
  const RunState& run = state_->run;
  const Tensor& shape = run.program.tensors[static_cast<std::size_t>(tensor)];
  naming_tensor(run, tensor, [&] {
    run.backend.fill({run.arena + run.plan->offset(tensor), shape.dtype, shape.rows, shape.columns},
                     values);
  });
}

}  // namespace moe
