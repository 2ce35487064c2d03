#include "moe/passes/stage_orders.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace moe {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

StageOrders orders_ahead(int stages, int micro_batches, const auto& ahead) {
  StageOrders orders;
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<StageTask>& tasks = orders.emplace_back();
    int forward = 0;
    while (forward < std::min(ahead(stage), micro_batches)) {
      tasks.push_back({Pass::forward, forward++});
    }
    for (int backward = 0; backward < micro_batches; ++backward) {
      tasks.push_back({Pass::backward, backward});
      if (forward < micro_batches) tasks.push_back({Pass::forward, forward++});
    }
  }
  return orders;
}

std::int64_t time_of(const PassTimes& times, Pass pass, bool backward_is_whole) {
  switch (pass) {
    case Pass::forward:
      return times.forward;
    case Pass::backward:
      return times.backward + (backward_is_whole ? times.weight_gradient : 0);
    case Pass::weight_gradient:
      return times.weight_gradient;
  }
  throw std::logic_error("time_of: no such pass");
}

/// The stages at a moment: what each has done, and when it did it.
class Clocks {
 public:
  Clocks(int stages, int chunks, int micro_batches, const PipelineTimes& times,
         bool backward_is_whole)
      : times_(times),
        stages_(stages),
        chunks_(place_of_chunk(times.path == ChunkPath::v ? 0 : stages - 1, chunks - 1, stages,
                               times.path) +
                1),
        micro_batches_(micro_batches),
        backward_is_whole_(backward_is_whole),
        idle_from_(static_cast<std::size_t>(stages), 0),
        done_(static_cast<std::size_t>(chunks_)),
        ends_(static_cast<std::size_t>(chunks_ * micro_batches * 3), kNever) {}

  std::int64_t idle_from(int stage) const { return idle_from_[index(stage)]; }
  int done(int stage, int chunk, Pass pass) const {
    return done_[index(place(stage, chunk))][static_cast<int>(pass)];
  }
  std::int64_t time(int stage, Pass pass) const {
    return time_of(times_.stages[index(stage)], pass, backward_is_whole_);
  }

  std::int64_t backward_end(int stage, StageTask task) const {
    return ends_[index(place(stage, task.chunk), Pass::backward, task.micro_batch)];
  }
  /// When the stage could begin the task; kNever where nobody knows yet.
  std::int64_t begin(int stage, StageTask task) const {
    std::int64_t came = 0;
    const int here = place(stage, task.chunk);
    const int from = here + (task.pass == Pass::forward ? -1 : 1);
    if (task.pass == Pass::weight_gradient) {
      came = ends_[index(here, Pass::backward, task.micro_batch)];
    } else if (from >= 0 && from < chunks_) {
      came = ends_[index(from, task.pass, task.micro_batch)];
      if (came != kNever) came += times_.pass_on;
    } else if (task.pass == Pass::backward) {
      came = ends_[index(here, Pass::forward, task.micro_batch)];
    }
    return came == kNever ? kNever : std::max(came, idle_from(stage));
  }

  TimedTask run(int stage, StageTask task) {
    TimedTask timed{stage, task, begin(stage, task), 0};
    timed.end = timed.begin + time(stage, task.pass);
    const int here = place(stage, task.chunk);
    idle_from_[index(stage)] = ends_[index(here, task.pass, task.micro_batch)] = timed.end;
    ++done_[index(here)][static_cast<int>(task.pass)];
    return timed;
  }

 private:
  static std::size_t index(int stage) { return static_cast<std::size_t>(stage); }
  int place(int stage, int chunk) const {
    return place_of_chunk(stage, chunk, stages_, times_.path);
  }
  std::size_t index(int place, Pass pass, int micro_batch) const {
    return static_cast<std::size_t>((place * micro_batches_ + micro_batch) * 3 +
                                    static_cast<int>(pass));
  }

  const PipelineTimes& times_;
  int stages_, chunks_, micro_batches_;  ///< chunks of all stages
  bool backward_is_whole_;
  std::vector<std::int64_t> idle_from_;
  std::vector<std::array<int, 3>> done_;
  std::vector<std::int64_t> ends_;
};

/// The stage that can begin its next task first (of several the first), and that task.
struct Next {
  std::int64_t begin = kNever;
  int stage = 0;
  StageTask task;
  void offer(const Next& other) {
    if (other.begin < begin) *this = other;
  }
};

/// A way to choose among the tasks of a stage.
struct ZeroBubbleWay {
  bool backward_first, fills_any_wait, far_ahead;
};

/// The pipeline of a zero-bubble order. Of a stage in a V a micro-batch in flight counts as two
/// halves.
struct ZeroBubblePipeline {
  int stages, micro_batches, most_in_flight;
  bool is_v;

  bool has_two_chunks(int stage) const { return is_v && stage < stages - 1; }
  int chunks(int stage) const { return has_two_chunks(stage) ? 2 : 1; }
  int tasks() const { return (is_v ? 2 * stages - 1 : stages) * micro_batches * 3; }
  /// Of a chunk of the stage, in parts of a micro-batch in flight.
  int weight(int stage) const { return is_v && !has_two_chunks(stage) ? 2 : 1; }
  int most_kept() const { return is_v ? 2 * most_in_flight : most_in_flight; }
};

/// What a stage does next, as far as it knows.
Next next_of_stage(const Clocks& clocks, int stage, const ZeroBubblePipeline& pipeline,
                   const ZeroBubbleWay& way) {
  const int stages = pipeline.stages, chunks = pipeline.chunks(stage);
  const int ahead = pipeline.is_v   ? pipeline.micro_batches
                    : way.far_ahead ? 2 * (stages - stage) - 1
                                    : stages - stage;
  Next next, weights;
  int kept = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int done = clocks.done(stage, chunk, Pass::weight_gradient);
    kept += pipeline.weight(stage) * (clocks.done(stage, chunk, Pass::forward) - done);
    if (done == clocks.done(stage, chunk, Pass::backward)) continue;
    const StageTask task{Pass::weight_gradient, done, chunk};
    weights.offer({clocks.backward_end(stage, task), stage, task});
  }
  const auto offer = [&](Pass pass) {
    for (int chunk = chunks; chunk-- > 0;) {
      const int done = clocks.done(stage, chunk, pass),
                forward = clocks.done(stage, chunk, Pass::forward);
      const int room = pipeline.weight(stage) + (chunk + 1 < chunks ? 1 : 0);
      const bool may = pass == Pass::backward
                           ? done < forward
                           : forward < pipeline.micro_batches &&
                                 kept + room <= pipeline.most_kept() &&
                                 (clocks.done(stage, chunk, Pass::backward) > 0 || forward < ahead);
      const StageTask task{pass, done, chunk};
      if (may) next.offer({clocks.begin(stage, task), stage, task});
    }
  };
  offer(way.backward_first ? Pass::backward : Pass::forward);
  offer(way.backward_first ? Pass::forward : Pass::backward);
  const std::int64_t now = clocks.idle_from(stage);
  if (weights.begin != kNever && next.begin > now &&
      (way.fills_any_wait || next.begin == kNever ||
       now + clocks.time(stage, Pass::weight_gradient) <= next.begin)) {
    next = {now, stage, weights.task};
  }
  return next;
}

struct TriedOrders {
  StageOrders orders;
  std::int64_t end = 0, longest_idle = 0;
};

TriedOrders zero_bubble_orders(const ZeroBubblePipeline& pipeline, const PipelineTimes& times,
                               const ZeroBubbleWay& way) {
  Clocks clocks(pipeline.stages, pipeline.chunks(0), pipeline.micro_batches, times, false);
  TriedOrders tried{StageOrders(static_cast<std::size_t>(pipeline.stages))};
  std::vector<std::int64_t> idle(static_cast<std::size_t>(pipeline.stages), 0);
  for (int left = pipeline.tasks(); left > 0; --left) {
    Next next;
    for (int stage = 0; stage < pipeline.stages; ++stage) {
      next.offer(next_of_stage(clocks, stage, pipeline, way));
    }
    if (next.begin == kNever) throw std::logic_error("zero_bubble_orders: all stages wait");
    const auto s = static_cast<std::size_t>(next.stage);
    if (!tried.orders[s].empty()) idle[s] += next.begin - clocks.idle_from(next.stage);
    tried.end = std::max(tried.end, clocks.run(next.stage, next.task).end);
    tried.orders[s].push_back(next.task);
  }
  tried.longest_idle = std::ranges::max(idle);
  return tried;
}

}  // namespace

int place_of_chunk(int stage, int chunk, int stages, ChunkPath path) {
  if (path == ChunkPath::v && chunk == 1) return 2 * stages - 2 - stage;
  return chunk * stages + stage;
}

StageOrders gpipe_orders(int stages, int micro_batches) {
  return orders_ahead(stages, micro_batches, [&](int) { return micro_batches; });
}

StageOrders one_f_one_b_orders(int stages, int micro_batches) {
  return orders_ahead(stages, micro_batches, [&](int stage) { return stages - stage; });
}

StageOrders interleaved_orders(int stages, int chunks, int micro_batches) {
  const int passes = micro_batches * chunks, round = stages * chunks;
  const auto task = [&](Pass pass, int number) {
    const int chunk = number % round / stages;
    return StageTask{pass, number / round * stages + number % stages,
                     pass == Pass::forward ? chunk : chunks - 1 - chunk};
  };
  StageOrders orders;
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<StageTask>& tasks = orders.emplace_back();
    const int ahead = std::min(2 * (stages - stage - 1) + (chunks - 1) * stages, passes);
    for (int forward = 0; forward < ahead; ++forward) {
      tasks.push_back(task(Pass::forward, forward));
    }
    for (int backward = 0; backward < passes; ++backward) {
      if (ahead + backward < passes) tasks.push_back(task(Pass::forward, ahead + backward));
      tasks.push_back(task(Pass::backward, backward));
    }
  }
  return orders;
}

StageOrders zero_bubble_orders(int stages, int micro_batches, const PipelineTimes& times,
                               int most_in_flight) {
  const ZeroBubblePipeline pipeline{stages, micro_batches, most_in_flight,
                                    times.path == ChunkPath::v};
  std::optional<TriedOrders> best;
  for (int way = 0; way < 8; ++way) {
    TriedOrders tried =
        zero_bubble_orders(pipeline, times, {(way & 4) == 0, (way & 2) == 0, (way & 1) == 0});
    const auto rank = [](const TriedOrders& one) { return std::tie(one.end, one.longest_idle); };
    if (!best || rank(tried) < rank(*best)) best = std::move(tried);
  }
  return std::move(best->orders);
}

std::vector<TimedTask> in_time(const StageOrders& orders, const PipelineTimes& times) {
  std::size_t total = 0;
  int micro_batches = 0, chunks = 0;
  bool backward_is_whole = true;
  for (const auto& tasks : orders) {
    total += tasks.size();
    for (const StageTask& task : tasks) {
      micro_batches = std::max(micro_batches, task.micro_batch + 1);
      chunks = std::max(chunks, task.chunk + 1);
      if (task.pass == Pass::weight_gradient) backward_is_whole = false;
    }
  }
  Clocks clocks(static_cast<int>(orders.size()), chunks, micro_batches, times, backward_is_whole);
  std::vector<std::size_t> next_task(orders.size(), 0);
  std::vector<TimedTask> result;
  while (result.size() < total) {
    Next next;
    for (std::size_t s = 0; s < orders.size(); ++s) {
      if (next_task[s] == orders[s].size()) continue;
      const StageTask task = orders[s][next_task[s]];
      const int stage = static_cast<int>(s);
      next.offer({clocks.begin(stage, task), stage, task});
    }
    if (next.begin == kNever) throw std::logic_error("in_time: stages wait for each other");
    ++next_task[static_cast<std::size_t>(next.stage)];
    result.push_back(clocks.run(next.stage, next.task));
  }
  return result;
}

}  // namespace moe
