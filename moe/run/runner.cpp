#include "moe/run/runner.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "moe/errors.h"

namespace moe {
namespace {

using Clock = std::chrono::steady_clock;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

std::string describe(const Op& op) {
  std::string text = op.name;
  if (op.layer >= 0) text += fmt::format(" (layer {}", op.layer);
  if (op.chunk.count > 1)
    text += fmt::format("{}chunk {}/{}", op.layer >= 0 ? ", " : " (", op.chunk.index + 1,
                        op.chunk.count);
  return op.layer >= 0 || op.chunk.count > 1 ? text + ")" : text;
}

GroupKind group_of(const Op& op) {
  if (const auto* exchange = std::get_if<AllToAll>(&op.kind)) return exchange->group;
  if (const auto* reduce = std::get_if<AllReduce>(&op.kind)) return reduce->group;
  return GroupKind::world;
}

/// An op whose addresses, rows and messages are known.
struct Ready {
  BoundOp bound;
  std::vector<Segment> send, receive;  ///< all-to-all only
};

/// Contiguous elements that one all-reduce call sums.
struct Buffer {
  std::byte* data;
  std::int64_t count;
};

}  // namespace

struct Runner::State {
  Program program;
  Groups groups;
  Backend& backend;
  Communicator& world;
  RunOptions options;

  std::vector<std::vector<int>> waits_for;            ///< by op: earlier ops on other streams
  std::array<std::vector<int>, kStreamCount> ops_of;  ///< by stream
  std::map<int, std::vector<Slice>> cuts;             ///< by MoE layer
  std::optional<MemoryPlan> plan;
  std::map<std::pair<GroupKind, Stream>, std::unique_ptr<Communicator>> communicators;
  std::byte* arena = nullptr;
  std::int64_t arena_bytes = 0;

  // Written by the host thread as sizes become known, read by the stream threads once `ready_until`
  // has passed.
  Binding binding;
  std::vector<Ready> ready;
  IterationResult result;

  std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex:
  int ready_until = 0;
  std::vector<bool> done;
  std::exception_ptr failure;
  int generation = 0;  ///< iterations begun
  int busy = 0;        ///< stream threads within the present iteration
  bool stopping = false;

  std::vector<Mark> begin_marks, end_marks;           ///< by op on device streams
  std::vector<std::pair<double, double>> host_times;  ///< by op on the host stream
  std::vector<std::thread> threads;

  State(Groups groups, Backend& backend, Communicator& world, RunOptions options)
      : groups(std::move(groups)), backend(backend), world(world), options(options) {}

  // --- preparation -------------------------------------------------------------------------

  void adopt(Program next) {
    program = std::move(next);
    validate(program);
    const auto all = dependencies(program);
    waits_for.assign(program.ops.size(), {});
    for (auto& list : ops_of) list.clear();
    cuts.clear();
    for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
      const Op& op = program.ops[i];
      ops_of[static_cast<std::size_t>(op.stream)].push_back(i);
      for (const int earlier : all[i])
        if (program.ops[earlier].stream != op.stream) waits_for[i].push_back(earlier);
      if (std::holds_alternative<ExchangeCounts>(op.kind))
        cuts[op.layer] = slice_cuts(program, op.layer);
    }
    make_communicators();
    plan.emplace(program);
    make_arena();
  }

  /// Every rank makes the same ones in the same order.
  void make_communicators() {
    std::set<std::pair<GroupKind, Stream>> wanted;
    for (const Op& op : program.ops)
      if (is_communication(op)) wanted.insert({group_of(op), op.stream});
    const bool on_device = backend.native_stream(Stream::compute) != nullptr;
    for (const auto& key : wanted) {
      if (communicators.contains(key)) continue;
      const std::vector<int> ranks = members(groups, key.first, world.rank);
      const bool for_device = on_device && key.second != Stream::host;
      if (for_device && options.device_world) {
        communicators[key] = options.device_world->split(ranks);
      } else {
        communicators[key] = world.split(ranks);
        if (for_device)
          communicators[key] = make_staged_communicator(std::move(communicators[key]), backend);
      }
    }
  }

  /// A plan that capacity bounds is known now, and refused now; a dropless one can only be bounded
  /// by the limit.
  void make_arena() {
    const int planned = plan->advance({});
    check_limit();
    const bool whole = planned == static_cast<int>(program.ops.size());
    std::int64_t bytes = plan->peak_bytes();
    if (!whole) bytes = options.memory_limit_bytes;
    if (!whole && bytes == 0)
      throw std::invalid_argument("run: a dropless program needs a memory limit");
    if (bytes > arena_bytes) {
      arena = backend.arena(bytes);
      arena_bytes = bytes;
    }
    plan->restart();
  }

  void check_limit() const {
    const std::int64_t limit = options.memory_limit_bytes;
    if (limit == 0 || plan->peak_bytes() <= limit) return;
    const int op = plan->peak_op();
    throw OutOfMemory(
        fmt::format("rank {}: {} needs {} bytes of arena, the limit is {}", world.rank,
                    op < 0 ? std::string("what lives over iterations") : describe(program.ops[op]),
                    plan->peak_bytes(), limit));
  }

  View view(const Use& use) {
    const Tensor& tensor = program.tensors[use.tensor];
    result.measured_peak_bytes = std::max(result.measured_peak_bytes, plan->end(use.tensor));
    return {arena + plan->offset(use.tensor), tensor.dtype, rows_of(tensor, binding),
            tensor.columns};
  }

  bool is_bound_op(const Op& op) const {
    for (const auto* uses : {&op.reads, &op.writes})
      for (const Use& use : *uses)
        if (!is_bound(program.tensors[use.tensor], binding)) return false;
    return true;
  }

  void make_ready(int index) {
    const Op& op = program.ops[index];
    Ready& entry = ready[index];
    entry = {};
    entry.bound.op = &op;
    for (const Use& use : op.reads) entry.bound.reads.push_back(view(use));
    for (const Use& use : op.writes) entry.bound.writes.push_back(view(use));
    if (is_communication(op)) {
      if (const auto* exchange = std::get_if<AllToAll>(&op.kind)) {
        const RowLayout& layout = binding.layouts.at(op.layer);
        const Slice slice = op.reads[0].slice;
        entry.send = sent_segments(layout, slice);
        entry.receive = received_segments(layout, slice);
        if (exchange->direction == Direction::combine) std::swap(entry.send, entry.receive);
      }
      return;
    }
    const Use& rows = op.reads.front();
    const Tensor& tensor = program.tensors[rows.tensor];
    if (tensor.rows_are == Rows::received)
      entry.bound.ranges = expert_rows(binding.layouts.at(tensor.layer), rows.slice);
    else
      entry.bound.ranges = {{0, entry.bound.reads.front().rows}};
  }

  /// Gives places and rows to as many ops as are known and lets the streams go on to them.
  void prepare() {
    const int planned = plan->advance(binding);
    check_limit();
    if (plan->peak_bytes() > arena_bytes)
      throw OutOfMemory(fmt::format("rank {}: {} bytes planned, the arena holds {}", world.rank,
                                    plan->peak_bytes(), arena_bytes));
    int next = ready_until;  // only this thread changes it
    while (next < planned && is_bound_op(program.ops[next])) make_ready(next++);
    const std::lock_guard lock(mutex);
    ready_until = next;
    changed.notify_all();
  }

  // --- execution ---------------------------------------------------------------------------

  /// Blocks until `op` may run; false when another stream failed.
  bool await(int op) {
    std::unique_lock lock(mutex);
    const auto blocked_by = [&]() -> int {
      for (const int earlier : waits_for[op])
        if (!done[earlier]) return earlier;
      return -1;
    };
    const auto deadline = std::chrono::duration<double>(2 * options.time_limit_s);
    if (!changed.wait_for(lock, deadline,
                          [&] { return failure || (ready_until > op && blocked_by() < 0); })) {
      const int earlier = blocked_by();
      throw TimeLimit(fmt::format(
          "rank {}: {} waited {} s for {}", world.rank, describe(program.ops[op]), deadline.count(),
          earlier < 0 ? std::string("the routing of its layer")
                      : fmt::format("{} on stream {}", describe(program.ops[earlier]),
                                    stream_name(program.ops[earlier].stream))));
    }
    return !failure;
  }

  void finish(int op) {
    const std::lock_guard lock(mutex);
    done[op] = true;
    changed.notify_all();
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(error);
    changed.notify_all();
  }

  CallContext context(const Op& op) {
    return {backend.native_stream(op.stream), op.stream, options.time_limit_s, describe(op)};
  }

  void communicate(int index) {
    const Op& op = program.ops[index];
    const Ready& entry = ready[index];
    Communicator& group = *communicators.at({group_of(op), op.stream});
    if (std::holds_alternative<AllToAll>(op.kind)) {
      const View& from = entry.bound.reads[0];
      group.all_to_all_v(static_cast<const std::byte*>(from.data), entry.send,
                         static_cast<std::byte*>(entry.bound.writes[0].data), entry.receive,
                         from.columns * bytes_of(from.dtype), context(op));
      return;
    }
    for (const Buffer& buffer : adjoining(index))
      group.all_reduce(buffer.data, buffer.count, entry.bound.writes[0].dtype, context(op));
  }

  /// The op's written tensors, those that lie side by side in the arena as one.
  std::vector<Buffer> adjoining(int index) const {
    std::vector<Buffer> buffers;
    const Op& op = program.ops[index];
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
      const View& view = ready[index].bound.writes[i];
      auto* data = static_cast<std::byte*>(view.data);
      const std::int64_t count = view.rows * view.columns;
      if (i > 0 && arena + plan->end(op.writes[i - 1].tensor) == data)
        buffers.back().count = (data - buffers.back().data) / bytes_of(view.dtype) + count;
      else
        buffers.push_back({data, count});
    }
    return buffers;
  }

  void run_stream(Stream stream) {
    for (const int op : ops_of[static_cast<std::size_t>(stream)]) {
      if (!await(op)) return;
      for (const int earlier : waits_for[op])
        if (program.ops[earlier].stream != Stream::host) backend.wait(stream, end_marks[earlier]);
      begin_marks[op] = backend.mark(stream);
      if (is_communication(program.ops[op]))
        communicate(op);
      else
        backend.execute(ready[op].bound);
      end_marks[op] = backend.mark(stream);
      finish(op);
    }
  }

  void stream_thread(Stream stream) {
    for (int seen = 0;;) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stopping || generation > seen; });
        if (stopping) return;
        seen = generation;
      }
      try {
        run_stream(stream);
      } catch (...) {
        fail(std::current_exception());
      }
      const std::lock_guard lock(mutex);
      --busy;
      changed.notify_all();
    }
  }

  /// All ranks learn all counts; this binds the layer's rows.
  void exchange_counts(int index) {
    const Op& op = program.ops[index];
    const int experts = std::get<ExchangeCounts>(op.kind).experts;
    const auto& reads = ready[index].bound.reads;
    std::vector<std::int32_t> offsets(experts + 1), mine(2 * experts);
    const auto fetch = [&](std::span<std::int32_t> host, const View& view) {
      backend.download(std::as_writable_bytes(host), static_cast<const std::byte*>(view.data),
                       Stream::host);
    };
    fetch(offsets, reads[0]);
    for (int e = 0; e < experts; ++e) mine[e] = offsets[e + 1] - offsets[e];
    fetch(std::span(mine).subspan(experts), reads[1]);

    std::vector<std::int32_t> all(mine.size() * groups.ranks);
    communicators.at({GroupKind::world, Stream::host})
        ->all_gather(mine.data(), all.data(), static_cast<std::int64_t>(mine.size()), DType::i32,
                     context(op));

    LayerRouting routing{op.layer, experts, {}};
    std::vector<std::int32_t> demand(experts);
    for (int r = 0; r < groups.ranks; ++r) {
      const std::int32_t* kept = all.data() + static_cast<std::ptrdiff_t>(r) * 2 * experts;
      routing.tokens.emplace_back(kept, kept + experts);
      for (int e = 0; e < experts; ++e) {
        demand[e] += kept[experts + e];
        result.dropped += kept[experts + e] - kept[e];
      }
    }
    backend.upload(static_cast<std::byte*>(ready[index].bound.writes[0].data),
                   std::as_bytes(std::span(demand)), Stream::host);
    binding.layouts.insert_or_assign(
        op.layer, make_row_layout(routing, groups, world.rank, cuts.at(op.layer)));
    result.routing.layers.push_back(std::move(routing));
  }

  void run_host() {
    prepare();
    for (const int op : ops_of[static_cast<std::size_t>(Stream::host)]) {
      if (!await(op)) return;
      for (const int earlier : waits_for[op]) backend.time_of(end_marks[earlier]);
      host_times[op].first = now_s();
      exchange_counts(op);
      host_times[op].second = now_s();
      finish(op);
      prepare();
    }
  }

  IterationResult iterate() {
    if (failure) throw std::logic_error("run: an earlier iteration of this runner failed");
    const std::size_t count = program.ops.size();
    result = {};
    binding.layouts.clear();
    plan->restart();
    ready.resize(count);
    begin_marks.assign(count, 0);
    end_marks.assign(count, 0);
    host_times.assign(count, {});
    backend.forget_marks();
    {
      const std::lock_guard lock(mutex);
      ready_until = 0;
      done.assign(count, false);
      ++generation;
      busy = static_cast<int>(threads.size());
      result.begin_s = now_s();
      changed.notify_all();
    }
    try {
      run_host();
    } catch (...) {
      fail(std::current_exception());
    }
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return busy == 0; });
      if (failure) std::rethrow_exception(failure);
    }
    collect();
    return std::move(result);
  }

  void collect() {
    result.end_s = result.begin_s;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const bool on_host = program.ops[i].stream == Stream::host;
      const double begin = on_host ? host_times[i].first : backend.time_of(begin_marks[i]);
      const double end = on_host ? host_times[i].second : backend.time_of(end_marks[i]);
      result.end_s = std::max(result.end_s, end);
      if (options.record_spans) result.spans.push_back({static_cast<int>(i), begin, end - begin});
    }
    result.planned_peak_bytes = plan->peak_bytes();
  }
};

Runner::Runner(Program program, Groups groups, Backend& backend, Communicator& world,
               RunOptions options)
    : state_(std::make_unique<State>(std::move(groups), backend, world, options)) {
  state_->adopt(std::move(program));
  for (const Stream stream :
       {Stream::compute, Stream::inter_node, Stream::intra_node, Stream::copy})
    state_->threads.emplace_back([state = state_.get(), stream] { state->stream_thread(stream); });
}

Runner::~Runner() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
  }
  for (std::thread& thread : state_->threads) thread.join();
}

const Program& Runner::program() const { return state_->program; }
void Runner::reschedule(Program program) { state_->adopt(std::move(program)); }
IterationResult Runner::iterate() { return state_->iterate(); }

void Runner::write(TensorId tensor, std::span<const std::byte> data) {
  state_->backend.upload(state_->arena + state_->plan->offset(tensor), data, Stream::compute);
}

void Runner::read(TensorId tensor, std::span<std::byte> data) const {
  state_->backend.download(data, state_->arena + state_->plan->offset(tensor), Stream::compute);
}

}  // namespace moe
