#include "moe/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "moe/communicator/cores.h"
#include "moe/kernels/learning_rate.h"
#include "moe/model/iteration.h"
#include "moe/model/update.h"
#include "moe/rows/balance.h"
#include "moe/stop.h"
#include "moe/train/agreement.h"
#include "moe/train/change_program.h"
#include "moe/train/exposed_communication.h"
#include "moe/train/finite_check.h"
#include "moe/train/initialize.h"
#include "moe/train/shared_states.h"
#include "moe/train/step_flops.h"
#include "moe/train/turns.h"

namespace moe {
namespace {

/// Gathers `mine` from every rank, in rank order.
std::vector<double> gather(Communicator& world, const std::vector<double>& mine, const char* what,
                           double time_limit_s) {
  std::vector<double> all(mine.size() * world.size);
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = what;
  world.all_gather(mine.data(), all.data(), static_cast<std::int64_t>(mine.size()), DType::f64,
                   call);
  return all;
}

/// So that an iteration's time does not include the wait for a late rank.
void wait_for_others(Communicator& world, double time_limit_s) {
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "barrier before an iteration";
  world.barrier(call);
}

/// Reads samples of the global batch.
using ReadSamples = std::function<Batch(SampleRange)>;

void load_batch(Runner& runner, const Model& model, const Groups& groups, int rank,
                const ReadSamples& read) {
  const Program& program = runner.program();
  const int ranks = stage_ranks(groups);
  const std::int64_t length = model.sequence_length;
  for (int i = 0; i < model.micro_batches; ++i) {
    const auto micro_batch = static_cast<std::size_t>(i);
    const TensorId tokens = program.tokens[micro_batch], targets = program.targets[micro_batch];
    if (tokens < 0 && targets < 0) continue;  // a stage in the middle
    // The sequences that this rank has tokens of; ranks of tp may share them (Model::batch_per).
    const std::int64_t count = program.tensors[std::max(tokens, targets)].rows;
    const std::int64_t first = (std::int64_t{i} * ranks + rank_in_stage(groups, rank)) * count;
    const std::int64_t sample = first / length, end = (first + count + length - 1) / length;
    const Batch batch = read({sample, end - sample});
    const auto write = [&](TensorId input, const std::vector<std::int32_t>& values) {
      const auto own = std::span(values).subspan(static_cast<std::size_t>(first - sample * length),
                                                 static_cast<std::size_t>(count));
      if (input >= 0) runner.write(input, std::as_bytes(own));
    };
    write(tokens, batch.tokens);
    write(targets, batch.targets);
  }
}

/// The spans of all ranks on rank 0's clock, counted from the first begin, and what they add up to.
/// `program` is the whole one that was run.
void merge_timelines(StepReport& report, const IterationResult& mine, double my_flops,
                     const Program& program, const Groups& groups, Communicator& world,
                     const std::vector<RankInfo>& ranks, double time_limit_s) {
  const std::size_t ops = program.ops.size();
  constexpr double kNotRun = -1;  // no op lasts so long
  std::vector<double> packed{mine.begin_s,
                             mine.end_s,
                             static_cast<double>(mine.planned_peak_bytes),
                             static_cast<double>(mine.touched_peak_bytes.value_or(0)),
                             static_cast<double>(mine.dropped),
                             static_cast<double>(mine.planned_host_peak_bytes),
                             my_flops,
                             mine.spans.empty() ? 0 : exposed_communication_s(program, mine)};
  const std::size_t head = packed.size();
  constexpr std::size_t kPerSpan = 3;
  if (!mine.spans.empty()) packed.resize(head + kPerSpan * ops, kNotRun);
  for (const OpSpan& span : mine.spans) {
    const auto op = static_cast<std::size_t>(span.op);
    double* const place = packed.data() + head + kPerSpan * op;
    place[0] = span.start_s;
    place[1] = span.duration_s;
    place[2] = static_cast<double>(mine.sent_bytes[op]);
  }
  const std::vector<double> all = gather(world, packed, "gathering of spans", time_limit_s);
  const auto at = [&](int rank) {
    return all.data() + static_cast<std::size_t>(rank) * packed.size();
  };

  double begin = at(0)[0] + ranks[0].clock.offset_s, end = at(0)[1] + ranks[0].clock.offset_s;
  for (int r = 0; r < world.size; ++r) {
    begin = std::min(begin, at(r)[0] + ranks[r].clock.offset_s);
    end = std::max(end, at(r)[1] + ranks[r].clock.offset_s);
    report.planned_peak_bytes.push_back(static_cast<std::int64_t>(at(r)[2]));
    report.touched_peak_bytes.push_back(static_cast<std::int64_t>(at(r)[3]));
    report.planned_host_peak_bytes.push_back(static_cast<std::int64_t>(at(r)[5]));
    report.flops += at(r)[6];
    if (rank_in_stage(groups, r) == 0) report.dropped += static_cast<std::int64_t>(at(r)[4]);
  }
  report.duration_s = end - begin;
  if (mine.spans.empty()) return;
  report.timeline.duration_s = report.duration_s;
  report.exposed_s = 0;
  for (int r = 0; r < world.size; ++r) *report.exposed_s += at(r)[7] / world.size;
  for (int r = 0; r < world.size; ++r) {
    std::vector<OpSpan> spans;
    std::vector<std::int64_t> sent(ops);
    for (std::size_t op = 0; op < ops; ++op) {
      const double* span = at(r) + head + kPerSpan * op;
      if (span[1] == kNotRun) continue;
      spans.push_back({static_cast<int>(op), span[0] + ranks[r].clock.offset_s - begin, span[1]});
      sent[op] = static_cast<std::int64_t>(span[2]);
    }
    report.timeline.ranks.push_back(std::move(spans));
    report.sent_bytes.push_back(std::move(sent));
  }
}

/// The routing of all stages; the first rank of each stage sends it.
Routing routing_of_stages(Routing mine, const Groups& groups, Communicator& world,
                          double time_limit_s) {
  if (groups.layout.pipeline == 1) return mine;
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "gathering of routings";
  const bool tells = rank_in_stage(groups, world.rank) == 0;
  Routing whole;
  for (const std::string& text : gather_texts(world, tells ? to_json(mine) : "", call)) {
    if (text.empty()) continue;
    for (LayerRouting& layer : routing_from_json(text).layers) {
      whole.layers.push_back(std::move(layer));
    }
  }
  return whole;
}

/// Sends the schedule that rank 0 has decided on after an iteration to every rank; none to go on as
/// before.
std::optional<Schedule> next_schedule(Planning& planning, SeenIteration seen, Communicator& world,
                                      double time_limit_s) {
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "exchange of a schedule";
  std::string text;
  if (world.rank == 0) {
    if (const auto schedule = planning.after(std::move(seen))) text = to_json(*schedule);
  }
  text = gather_texts(world, text, call).front();
  if (text.empty()) return std::nullopt;
  return schedule_from_json(text);
}

/// Tells the device which norm of gradients is an outlier of this iteration.
void write_norm_limit(Runner& runner, const OutlierHistory& history, const Model& model) {
  const TensorId tensor = runner.program().norm_limit;
  if (tensor < 0) return;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double limit = outlier_limits(history, model).gradient_norm.value_or(kNone);
  const auto narrow = static_cast<float>(limit);
  if (runner.program().tensors[tensor].dtype == DType::f64) {
    runner.write(tensor, std::as_bytes(std::span(&limit, 1)));
  } else {
    runner.write(tensor, std::as_bytes(std::span(&narrow, 1)));
  }
}

/// The norm of all gradients, where they are clipped. Throws NotFinite, on all ranks, where
/// parameters were updated with one that is not finite.
std::optional<double> gradient_norm(const Runner& runner, int step) {
  const Program& program = runner.program();
  if (program.gradient_norms.empty()) return std::nullopt;
  const double norm = read_scalar(runner, program.gradient_norms.front());
  if (std::isfinite(norm)) return norm;
  throw NotFinite(
      fmt::format("iteration {}: the norm of the gradients is {}", step, std::abs(norm)), {});
}

}  // namespace

void train(const Model& model, const Program& program, Schedule schedule, const Corpus& corpus,
           const Groups& groups, Backend& backend, Communicator& world,
           const std::vector<RankInfo>& ranks, const TrainOptions& options,
           const TrainObserver& observer) {
  Program scheduled = apply(program, schedule);
  Runner runner(scheduled, groups, backend, world, options.run);
  initialize_parameters(runner, model.seed, cores_of_rank(ranks_on_machine(ranks, world.rank)));
  std::int32_t first = 1;
  if (options.resume) {
    resume(runner, *options.resume, world, options.run.time_limit_s);
    first = options.resume->index.iteration + 1;
  }
  std::optional<Checkpoints> checkpoints;
  if (options.checkpoint && !options.only_evaluates) {
    checkpoints.emplace(*options.checkpoint, groups, world, options.run.time_limit_s,
                        observer.checkpoint);
  }
  if (world.rank == 0) observer.schedule(first, schedule, scheduled);
  const SharedStates states(groups, world, options.run.time_limit_s);
  std::optional<StepFlops> flops(std::in_place, runner.program(), groups, world.rank);
  Batches batches(corpus, model.seed, model.global_batch, options.data);
  Planning planning(options.replan, options.planning, options.steps);
  Agreement agreement;
  OutlierHistory outliers = options.resume ? options.resume->index.outliers : OutlierHistory{};
  runner.set_before_update([&] {
    agreement = agree(runner, world, options.run.time_limit_s);
    return agreement.is_finite() && !is_outlier(outliers, model, agreement.cross_entropy);
  });
  const auto iterate = [&](const std::string& what, bool measure_memory) {
    IterationResult result = runner.iterate(measure_memory);
    // Avoids "-nan".
    const double loss = std::abs(agreement.cross_entropy + agreement.auxiliary + agreement.z_loss);
    if (!agreement.is_finite()) {
      throw_not_finite(runner, backend, world, fmt::format("{} is {}", what, loss));
    }
    return result;
  };
  // No held-out loss where a signal asks for the end meanwhile.
  const auto evaluate = [&](int step) -> std::optional<double> {
    runner.reschedule(without_noise(forward_only(scheduled)));
    double sum = 0;
    for (int i = 0; i < options.evaluate_batches; ++i) {
      load_batch(runner, model, groups, world.rank, [&](SampleRange samples) {
        return draw_batch(corpus, Split::held_out, model.seed, i, samples);
      });
      iterate(fmt::format("after iteration {} the held-out loss", step), false);
      if (agreement.stop_signal != 0) return std::nullopt;
      sum += agreement.cross_entropy;
    }
    runner.reschedule(scheduled);
    return sum / options.evaluate_batches;
  };
  const auto write_step = [&](std::int32_t step) {
    runner.write(runner.program().step, std::as_bytes(std::span(&step, 1)));
  };
  if (options.only_evaluates) {
    write_step(first - 1);
    const auto loss = options.evaluate_batches > 0 ? evaluate(first - 1) : std::nullopt;
    if (loss && world.rank == 0) observer.evaluated(first - 1, *loss);
  }
  for (std::int32_t step = first; step <= options.steps && !options.only_evaluates; ++step) {
    const bool warms_up =
        turn_of(step - first + 1, options.schedules_in_turns).iteration <= kWarmupIterations;
    StepReport report;
    report.epoch_ends = batches.begin(step);
    load_batch(runner, model, groups, world.rank,
               [&](SampleRange samples) { return batches.read(samples); });
    write_step(step);
    write_norm_limit(runner, outliers, model);
    wait_for_others(world, options.run.time_limit_s);
    IterationResult mine = iterate(fmt::format("iteration {}: the loss", step), warms_up);

    report.iteration = step;
    report.warms_up = warms_up;
    report.learning_rate = rate_at(learning_rate(model), step);
    report.loss = agreement.cross_entropy;
    const bool has_norm = !is_outlier(outliers, model, report.loss);  // else nothing worked it out
    if (has_norm) report.gradient_norm = gradient_norm(runner, step);
    report.outlier = remember(outliers, model, report.loss, report.gradient_norm);
    report.skipped = outliers.skipped;
    report.auxiliary_loss = agreement.auxiliary;
    report.z_loss = agreement.z_loss;
    merge_timelines(report, mine, flops->under(mine.routing), scheduled, groups, world, ranks,
                    options.run.time_limit_s);
    report.routing =
        routing_of_stages(std::move(mine.routing), groups, world, options.run.time_limit_s);
    report.max_over_mean = worst_max_over_mean(report.routing);
    const bool periodic = options.evaluate_every > 0 && step % options.evaluate_every == 0;
    if (agreement.stop_signal == 0 && options.evaluate_batches > 0 &&
        (periodic || step == options.steps)) {
      report.heldout_loss = evaluate(step);
    }
    if (world.rank == 0) observer.step(report);
    if (const int signal = agreement.stop_signal) {
      if (checkpoints) {
        finish_together();
        checkpoints->after(step, true, runner, schedule, batches.cursors(), outliers);
      }
      throw Stopped(fmt::format("stopped after iteration {}: {}", step, stop_reason(signal)),
                    signal);
    }

    const bool is_last = step == options.steps;
    std::optional<Schedule> next;
    if (options.replan && !is_last) {
      next = next_schedule(planning, {step, report.duration_s, std::move(report.routing), schedule},
                           world, options.run.time_limit_s);
    }
    if (next) {
      schedule = std::move(*next);
      Program planned = apply(program, schedule);
      const ExpertTraffic traffic = expert_traffic(scheduled, planned.homes);
      const auto begin = std::chrono::steady_clock::now();
      change_program(runner, planned, states, world, options.run.time_limit_s);
      if (world.rank == 0 && traffic.experts > 0) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        observer.moved(step + 1, traffic, took.count());
      }
      scheduled = std::move(planned);
      flops.emplace(runner.program(), groups, world.rank);
      if (world.rank == 0) {
        observer.planned(planning.time());
        observer.schedule(step + 1, schedule, scheduled);
      }
    }
    if (checkpoints) {
      checkpoints->after(step, is_last, runner, schedule, batches.cursors(), outliers);
    }
  }
  if (options.sample && agreement.stop_signal == 0) {
    runner.reschedule(without_noise(forward_only(scheduled)));
    const std::vector<std::int32_t> tokens =
        sample_tokens(runner, model, groups, backend, world, *options.sample,
                      options.run.time_limit_s, [&] { return agreement.stop_signal != 0; });
    if (world.rank == 0) observer.sampled(tokens);
  }
  if (const int signal = agreement.stop_signal) {
    const std::int32_t last = options.only_evaluates ? first - 1 : options.steps;
    throw Stopped(fmt::format("stopped after iteration {}: {}", last, stop_reason(signal)), signal);
  }
  if (options.balanced_steps == 0) return;
  // Nothing looks at the parameters after this.
  load_batch(runner, model, groups, world.rank,
             [&](SampleRange samples) { return batches.read(samples); });
  const BalancedTurns turns =
      take_balanced_turns(runner, scheduled, options.balanced_steps, [&]() -> double {
        wait_for_others(world, options.run.time_limit_s);
        const IterationResult mine = iterate("a step beside those with even routing", false);
        if (const int signal = agreement.stop_signal) {
          throw Stopped(fmt::format("stopped: {}", stop_reason(signal)), signal);
        }
        StepReport report;
        merge_timelines(report, mine, 0, scheduled, groups, world, ranks, options.run.time_limit_s);
        return report.duration_s;
      });
  if (world.rank == 0) observer.balanced(turns);
}

}  // namespace moe
