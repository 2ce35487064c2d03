#include "moe/train/trainer.h"

#include <algorithm>
#include <array>

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
                             static_cast<double>(mine.measured_peak_bytes)};
  const std::size_t head = packed.size();
  for (const OpSpan& span : mine.spans) {
    packed.push_back(span.start_s);
    packed.push_back(span.duration_s);
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
    report.measured_peak_bytes.push_back(static_cast<std::int64_t>(at(r)[3]));
  }
  report.duration_s = end - begin;
  if (mine.spans.empty()) return;
  report.timeline.duration_s = report.duration_s;
  for (int r = 0; r < world.size; ++r) {
    std::vector<OpSpan> spans;
    for (std::size_t i = 0; i < mine.spans.size(); ++i)
      spans.push_back({mine.spans[i].op, at(r)[head + 2 * i] + ranks[r].clock.offset_s - begin,
                       at(r)[head + 2 * i + 1]});
    report.timeline.ranks.push_back(std::move(spans));
  }
}

}  // namespace

void train(const Model& model, const Program& scheduled, const Corpus& corpus, const Groups& groups,
           Backend& backend, Communicator& world, const std::vector<RankInfo>& ranks,
           const TrainOptions& options, const std::function<void(const StepReport&)>& observe) {
  Runner runner(scheduled, groups, backend, world, options.run);
  initialize_parameters(runner, model.seed);
  for (std::int32_t step = 1; step <= options.steps; ++step) {
    load_batch(runner, corpus, Split::training, model, step, world);
    runner.write(scheduled.step, std::as_bytes(std::span(&step, 1)));
    CallContext call;
    call.time_limit_s = options.run.time_limit_s;
    call.what = "barrier before an iteration";
    world.barrier(call);  // so that an iteration's time is its own, not the wait for a late rank
    IterationResult mine = runner.iterate();

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
    if (world.rank == 0) observe(report);
  }
}

}  // namespace moe
