#include "moe/train/trainer.h"

#include <algorithm>
#include <array>

#include "moe/model/iteration.h"
#include "moe/train/initialize.h"

namespace moe {
namespace {

/// Collects `mine` of every rank, in rank order.
std::vector<double> gather(Communicator& world, const std::vector<double>& mine, const char* what) {
  std::vector<double> all(mine.size() * world.size);
  CallContext call;
  call.what = what;
  world.all_gather(mine.data(), all.data(), static_cast<std::int64_t>(mine.size()), DType::f64,
                   call);
  return all;
}

double read_scalar(const Runner& runner, TensorId tensor) {
  if (runner.program().tensors[tensor].dtype == DType::f64) {
    double value = 0;
    runner.read(tensor, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  float value = 0;
  runner.read(tensor, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

void load_batch(Runner& runner, const Corpus& corpus, Split split, const Model& model, int step,
                const Communicator& world) {
  const std::int64_t count = model.global_batch / world.size;
  const Batch batch = draw_batch(corpus, split, model.seed, step, {world.rank * count, count});
  const Program& program = runner.program();
  runner.write(program.tokens, std::as_bytes(std::span(batch.tokens)));
  runner.write(program.targets, std::as_bytes(std::span(batch.targets)));
}

struct Losses {
  double cross_entropy = 0;
  double auxiliary = 0;
};

/// Sums over ranks: each holds its share of the global means.
Losses read_losses(const Runner& runner, Communicator& world) {
  std::array<double, 2> sums{read_scalar(runner, runner.program().loss), 0};
  for (const TensorId loss : runner.program().auxiliary_losses)
    sums[1] += read_scalar(runner, loss);
  CallContext call;
  call.what = "sum of the losses";
  world.all_reduce(sums.data(), sums.size(), DType::f64, call);
  return {sums[0], sums[1]};
}

double evaluate(Runner& runner, const Program& training, const Corpus& corpus, const Model& model,
                int batches, Communicator& world) {
  runner.reschedule(forward_only(training));
  double sum = 0;
  for (int i = 0; i < batches; ++i) {
    load_batch(runner, corpus, Split::held_out, model, i, world);
    runner.iterate();
    sum += read_losses(runner, world).cross_entropy;
  }
  runner.reschedule(training);
  return sum / batches;
}

/// Everyone's spans on rank 0's clock, from the first begin on.
void merge_timelines(StepReport& report, const IterationResult& mine, Communicator& world,
                     const std::vector<RankInfo>& ranks) {
  std::vector<double> packed{mine.begin_s, mine.end_s, static_cast<double>(mine.planned_peak_bytes),
                             static_cast<double>(mine.touched_peak_bytes.value_or(0))};
  const std::size_t head = packed.size();
  constexpr std::size_t kPerSpan = 3;
  for (const OpSpan& span : mine.spans) {
    packed.push_back(span.start_s);
    packed.push_back(span.duration_s);
    packed.push_back(static_cast<double>(mine.sent_bytes[static_cast<std::size_t>(span.op)]));
  }
  const std::vector<double> all = gather(world, packed, "gathering of spans");
  const auto at = [&](int rank) {
    return all.data() + static_cast<std::size_t>(rank) * packed.size();
  };

  double begin = at(0)[0] + ranks[0].clock.offset_s, end = at(0)[1] + ranks[0].clock.offset_s;
  for (int r = 0; r < world.size; ++r) {
    begin = std::min(begin, at(r)[0] + ranks[r].clock.offset_s);
    end = std::max(end, at(r)[1] + ranks[r].clock.offset_s);
    report.planned_peak_bytes.push_back(static_cast<std::int64_t>(at(r)[2]));
    report.touched_peak_bytes.push_back(static_cast<std::int64_t>(at(r)[3]));
  }
  report.duration_s = end - begin;
  if (mine.spans.empty()) return;
  report.timeline.duration_s = report.duration_s;
  for (int r = 0; r < world.size; ++r) {
    std::vector<OpSpan> spans;
    std::vector<std::int64_t> sent;
    for (std::size_t i = 0; i < mine.spans.size(); ++i) {
      const double* span = at(r) + head + kPerSpan * i;
      spans.push_back({mine.spans[i].op, span[0] + ranks[r].clock.offset_s - begin, span[1]});
      sent.push_back(static_cast<std::int64_t>(span[2]));
    }
    report.timeline.ranks.push_back(std::move(spans));
    report.sent_bytes.push_back(std::move(sent));
  }
}

/// What rank 0 decides after an iteration, on every rank; none to go on as before.
std::optional<Schedule> next_schedule(const TrainOptions& options, int iteration,
                                      const Routing& routing, Communicator& world) {
  CallContext call;
  call.time_limit_s = options.run.time_limit_s;
  call.what = "exchange of a schedule";
  std::string text;
  if (world.rank == 0)
    if (const auto schedule = options.replan(iteration, routing)) text = to_json(*schedule);
  text = gather_texts(world, text, call).front();
  if (text.empty()) return std::nullopt;
  return schedule_from_json(text);
}

}  // namespace

void train(const Model& model, const Program& program, Schedule schedule, const Corpus& corpus,
           const Groups& groups, Backend& backend, Communicator& world,
           const std::vector<RankInfo>& ranks, const TrainOptions& options,
           const TrainObserver& observer) {
  Program scheduled = apply(program, schedule);
  Runner runner(scheduled, groups, backend, world, options.run);
  initialize_parameters(runner, model.seed);
  if (world.rank == 0) observer.schedule(1, schedule, scheduled);
  for (std::int32_t step = 1; step <= options.steps; ++step) {
    load_batch(runner, corpus, Split::training, model, step, world);
    runner.write(scheduled.step, std::as_bytes(std::span(&step, 1)));
    CallContext call;
    call.time_limit_s = options.run.time_limit_s;
    call.what = "barrier before an iteration";
    world.barrier(call);  // so that an iteration's time is its own, not the wait for a late rank
    IterationResult mine = runner.iterate(step <= kWarmupIterations);

    StepReport report;
    report.iteration = step;
    const Losses losses = read_losses(runner, world);
    report.loss = losses.cross_entropy;
    report.auxiliary_loss = losses.auxiliary;
    report.dropped = mine.dropped;
    merge_timelines(report, mine, world, ranks);
    report.routing = std::move(mine.routing);
    const bool periodic = options.evaluate_every > 0 && step % options.evaluate_every == 0;
    if (options.evaluate_batches > 0 && (periodic || step == options.steps))
      report.heldout_loss =
          evaluate(runner, scheduled, corpus, model, options.evaluate_batches, world);
    if (world.rank == 0) observer.step(report);

    if (!options.replan || step == options.steps) continue;
    if (auto next = next_schedule(options, step, report.routing, world)) {
      schedule = std::move(*next);
      scheduled = apply(program, schedule);
      runner.reschedule(scheduled);
      if (world.rank == 0) observer.schedule(step + 1, schedule, scheduled);
    }
  }
}

}  // namespace moe
