#include "moe/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "moe/model/iteration.h"
#include "moe/stop.h"
#include "moe/train/agreement.h"
#include "moe/train/finite_check.h"
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

void load_batch(Runner& runner, const Corpus& corpus, Split split, const Model& model, int step,
                const Communicator& world) {
  const std::int64_t count = model.global_batch / world.size;
  const Batch batch = draw_batch(corpus, split, model.seed, step, {world.rank * count, count});
  const Program& program = runner.program();
  runner.write(program.tokens, std::as_bytes(std::span(batch.tokens)));
  runner.write(program.targets, std::as_bytes(std::span(batch.targets)));
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
  if (world.rank == 0) {
    if (const auto schedule = options.replan(iteration, routing)) text = to_json(*schedule);
  }
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
  Agreement agreement;
  runner.set_before_update([&] {
    agreement = agree(runner, world, options.run.time_limit_s);
    return agreement.is_finite();
  });
  const auto iterate = [&](const std::string& what, bool measure_memory) {
    IterationResult result = runner.iterate(measure_memory);
    const double loss = std::abs(agreement.cross_entropy + agreement.auxiliary);  // no "-nan"
    if (!agreement.is_finite()) {
      throw_not_finite(runner, backend, world, fmt::format("{} is {}", what, loss));
    }
    return result;
  };
  // None where a signal asks for the end meanwhile.
  const auto evaluate = [&](int step) -> std::optional<double> {
    runner.reschedule(forward_only(scheduled));
    double sum = 0;
    for (int i = 0; i < options.evaluate_batches; ++i) {
      load_batch(runner, corpus, Split::held_out, model, i, world);
      iterate(fmt::format("after iteration {} the held-out loss", step), false);
      if (agreement.stop_signal != 0) return std::nullopt;
      sum += agreement.cross_entropy;
    }
    runner.reschedule(scheduled);
    return sum / options.evaluate_batches;
  };
  for (std::int32_t step = 1; step <= options.steps; ++step) {
    load_batch(runner, corpus, Split::training, model, step, world);
    runner.write(scheduled.step, std::as_bytes(std::span(&step, 1)));
    CallContext call;
    call.time_limit_s = options.run.time_limit_s;
    call.what = "barrier before an iteration";
    world.barrier(call);  // so that an iteration's time is its own, not the wait for a late rank
    IterationResult mine =
        iterate(fmt::format("iteration {}: the loss", step), step <= kWarmupIterations);

    StepReport report;
    report.iteration = step;
    report.loss = agreement.cross_entropy;
    report.auxiliary_loss = agreement.auxiliary;
    report.dropped = mine.dropped;
    merge_timelines(report, mine, world, ranks);
    report.routing = std::move(mine.routing);
    const bool periodic = options.evaluate_every > 0 && step % options.evaluate_every == 0;
    if (agreement.stop_signal == 0 && options.evaluate_batches > 0 &&
        (periodic || step == options.steps)) {
      report.heldout_loss = evaluate(step);
    }
    if (world.rank == 0) observer.step(report);
    if (const int signal = agreement.stop_signal) {
      throw Stopped(fmt::format("stopped after iteration {}: {}", step, stop_reason(signal)),
                    signal);
    }

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
