#include "moe/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "moe/communicator/announced_work.h"
#include "moe/kernels/learning_rate.h"
#include "moe/lost_output.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/model/update.h"
#include "moe/rows/balance.h"
#include "moe/rows/routing_file.h"
#include "moe/stop.h"
#include "moe/train/agreement.h"
#include "moe/train/change_program.h"
#include "moe/train/finite_check.h"
#include "moe/train/initialize.h"
#include "moe/train/merge_timelines.h"
#include "moe/train/rank_clocks.h"
#include "moe/train/shared_states.h"
#include "moe/train/step_flops.h"
#include "moe/train/turns.h"

namespace moe {
namespace {

/// So that an iteration's time does not include the wait for a late rank. Where spans are recorded
/// a second barrier, which waits for nobody, tells how the clocks stand.
BarrierTimes wait_for_others(Communicator& world, const RunOptions& options) {
  const CallContext call{.time_limit_s = options.time_limit_s,
                         .what = "barrier before an iteration"};
  world.barrier(call);
  return options.record_spans ? timed_barrier(world, options.time_limit_s) : BarrierTimes{};
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

/// The routing of all stages, micro-batch after micro-batch in the order of layers; the first rank
/// of each stage sends it.
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
  std::ranges::stable_sort(whole.layers, {}, [](const LayerRouting& layer) {
    return std::pair(layer.micro_batch, layer.layer);
  });
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
    const AnnouncedWork plans(fmt::format("plans after iteration {}", seen.iteration));
    if (const auto schedule = planning.after(std::move(seen))) text = to_json(*schedule);
  }
  text = broadcast_text(world, text, call);
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

/// The options of a run whose arena does not grow when another schedule has its turn.
RunOptions with_largest_arena(const Program& program, const TrainOptions& options, int rank) {
  RunOptions run = options.run;
  for (const Schedule& schedule : options.turns) {
    const std::optional<std::int64_t> peak = known_peak_bytes(apply(program, schedule), rank);
    // Else the arena is as large as the limit.
    if (peak) run.least_arena_bytes = std::max(run.least_arena_bytes, *peak);
  }
  return run;
}

/// A training on one rank: what is under way between one iteration and the next.
class Training {
 public:
  /// Keeps references to all arguments but the ranks and the schedule, which is the one that the
  /// training begins with.
  Training(const Model& model, const Program& program, Schedule schedule, const Corpus& corpus,
           const Groups& groups, Backend& backend, Communicator& world,
           const std::vector<RankInfo>& ranks, const TrainOptions& options,
           const TrainObserver& observer)
      : model_(model),
        program_(program),
        corpus_(corpus),
        groups_(groups),
        backend_(backend),
        world_(world),
        options_(options),
        observer_(observer),
        schedule_(std::move(schedule)),
        scheduled_(apply(program, schedule_)),
        runner_(scheduled_, groups, backend, world,
                with_largest_arena(program, options, world.rank)),
        states_(groups, world, options.run.time_limit_s),
        flops_(std::in_place, runner_.program(), groups, world.rank),
        batches_(corpus, model.seed, model.global_batch, options.data),
        clocks_{RankClocks(ranks)},
        planning_(options.replan, options.planning, options.steps),
        links_(schedules_in_turns()) {
    announced("makes the first parameters", [&] { initialize_parameters(runner_, model.seed); });
    if (options.resume) {
      const ResumePoint point =
          resume(runner_, *options.resume, model, world, options.run.time_limit_s,
                 options.only_evaluates ? BesideTraining::maybe : BesideTraining::no);
      first_ = point.index.iteration + 1;
      outliers_ = point.index.outliers;
    }
    if (options.checkpoint && !options.only_evaluates) {
      CheckpointOptions kept = *options.checkpoint;
      if (options.resume) kept.goes_on_from = options.resume->index.iteration;
      checkpoints_.emplace(std::move(kept), groups, world, options.run.time_limit_s,
                           observer.checkpoint);
    }
    if (tells()) {
      announced("stores a schedule", [&] { observer.schedule(first_, schedule_, scheduled_); });
    }
    runner_.set_before_update([this] {
      agreement_ = agree(runner_, world_, options_.run.time_limit_s, !lost_output().empty());
      return agreement_.is_finite() && !is_outlier(outliers_, model_, agreement_.cross_entropy);
    });
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  void run() {
    if (options_.only_evaluates) {
      evaluate_alone();
    } else {
      for (std::int32_t step = first_; step <= options_.steps; ++step) train_step(step);
      tell_links();
    }
    if (options_.sample && !agreement_.asks_to_end()) sample();
    if (agreement_.asks_to_end()) {
      stop_after(options_.only_evaluates ? first_ - 1 : options_.steps);
    }
    if (options_.balanced_steps > 0) compare_with_even_routing();
  }

 private:
  bool tells() const { return world_.rank == 0; }
  std::size_t schedules_in_turns() const { return std::max<std::size_t>(options_.turns.size(), 1); }

  /// What a rank does alone, while the others wait.
  template <class Work>
  static void announced(std::string what, Work work) {
    const AnnouncedWork one(std::move(what));
    work();
  }

  void write_step(std::int32_t step) {
    runner_.write(runner_.program().step, std::as_bytes(std::span(&step, 1)));
  }

  std::string lost_output() const { return tells() ? observer_.lost_output() : ""; }

  [[noreturn]] void stop_after(int step) const { stop(fmt::format(" after iteration {}", step)); }

  [[noreturn]] void stop(const std::string& when) const {
    const int signal = agreement_.stop_signal;
    std::string why = lost_output();
    if (why.empty()) why = signal != 0 ? stop_reason(signal) : "another rank has lost an output";
    const std::string what = fmt::format("stopped{}: {}", when, why);
    if (signal != 0) throw Stopped(what, signal);
    throw LostOutput(what);
  }

  void load(const ReadSamples& read) { load_batch(runner_, model_, groups_, world_.rank, read); }

  IterationResult iterate(const std::string& what, bool measure_memory) {
    IterationResult result = runner_.iterate(measure_memory);
    if (!agreement_.is_finite()) {
      // Its absolute value, so that no "-nan" is printed.
      const double loss =
          std::abs(agreement_.cross_entropy + agreement_.auxiliary + agreement_.z_loss);
      throw_not_finite(runner_, backend_, world_, fmt::format("{} is {}", what, loss));
    }
    return result;
  }

  /// The held-out loss after an iteration; none where training is asked to end meanwhile.
  std::optional<double> evaluate(int step) {
    const AnnouncedWork computing(fmt::format("evaluates after iteration {}", step),
                                  AwaitedBy::launcher);
    runner_.reschedule(without_noise(forward_only(scheduled_)));
    double sum = 0;
    for (int i = 0; i < options_.evaluate_batches; ++i) {
      load([&](SampleRange samples) {
        return draw_batch(corpus_, Split::held_out, model_.seed, i, samples);
      });
      iterate(fmt::format("after iteration {} the held-out loss", step), false);
      if (agreement_.asks_to_end()) return std::nullopt;
      sum += agreement_.cross_entropy;
    }
    runner_.reschedule(scheduled_);
    return sum / options_.evaluate_batches;
  }

  void evaluate_alone() {
    write_step(first_ - 1);
    if (options_.evaluate_batches == 0) return;
    const std::optional<double> loss = evaluate(first_ - 1);
    if (loss && tells()) observer_.evaluated(first_ - 1, *loss);
  }

  void train_step(std::int32_t step) {
    StepReport report = iterate_and_report(step);
    const bool is_last = step == options_.steps;
    const bool periodic = options_.evaluate_every > 0 && step % options_.evaluate_every == 0;
    if (!agreement_.asks_to_end() && options_.evaluate_batches > 0 && (periodic || is_last)) {
      report.heldout_loss = evaluate(step);
    }
    if (tells()) {
      announced(fmt::format("stores iteration {}", step), [&] { observer_.step(report); });
    }
    if (agreement_.asks_to_end()) {
      if (checkpoints_) finish_together();
      keep(step, true);
      stop_after(step);
    }
    if (options_.replan && !is_last) plan_after(step, std::move(report));
    keep(step, is_last);
  }

  StepReport iterate_and_report(std::int32_t step) {
    const AnnouncedWork computing(fmt::format("computes iteration {}", step), AwaitedBy::launcher);
    StepReport report;
    report.iteration = step;
    report.warms_up =
        turn_of(step - first_ + 1, schedules_in_turns()).iteration <= kWarmupIterations;
    report.epoch_ends = batches_.begin(step);
    load([this](SampleRange samples) { return batches_.read(samples); });
    write_step(step);
    write_norm_limit(runner_, outliers_, model_);
    const BarrierTimes barrier = wait_for_others(world_, options_.run);
    IterationResult mine = iterate(fmt::format("iteration {}: the loss", step), report.warms_up);

    report.learning_rate = rate_at(learning_rate(model_), step);
    report.loss = agreement_.cross_entropy;
    const bool has_norm =
        !is_outlier(outliers_, model_, report.loss);  // else nothing worked it out
    if (has_norm) report.gradient_norm = gradient_norm(runner_, step);
    report.outlier = remember(outliers_, model_, report.loss, report.gradient_norm);
    report.skipped = outliers_.skipped;
    report.auxiliary_loss = agreement_.auxiliary;
    report.z_loss = agreement_.z_loss;
    merge_timelines(report, {mine, flops_->under(mine.routing), barrier}, scheduled_, groups_,
                    world_, clocks_, options_.run.time_limit_s);
    if (!report.warms_up) {
      links_[turn_of(step, schedules_in_turns()).schedule].add(report.received);
    }
    report.routing =
        routing_of_stages(std::move(mine.routing), groups_, world_, options_.run.time_limit_s);
    report.max_over_mean = worst_max_over_mean(report.routing);
    return report;
  }

  /// Asks for a plan after an iteration, and puts it into force.
  void plan_after(std::int32_t step, StepReport report) {
    std::optional<Schedule> next =
        next_schedule(planning_, {step, report.duration_s, std::move(report.routing), schedule_},
                      world_, options_.run.time_limit_s);
    if (!next) return;
    schedule_ = std::move(*next);
    Program planned = apply(program_, schedule_);
    const ExpertTraffic traffic = expert_traffic(scheduled_, planned.homes);
    const auto begin = std::chrono::steady_clock::now();
    change_program(runner_, planned, states_, world_, options_.run.time_limit_s);
    if (tells() && traffic.experts > 0) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      observer_.moved(step + 1, traffic, took.count());
    }
    scheduled_ = std::move(planned);
    flops_.emplace(runner_.program(), groups_, world_.rank);
    if (tells()) {
      announced("stores a schedule", [&] {
        observer_.planned(planning_.time());
        observer_.schedule(step + 1, schedule_, scheduled_);
      });
    }
  }

  /// Begins a checkpoint after an iteration where one is due.
  void keep(std::int32_t step, bool is_last) {
    if (!checkpoints_) return;
    const AnnouncedWork keeping(fmt::format("writes the checkpoint of iteration {}", step),
                                AwaitedBy::launcher);
    checkpoints_->after(step, is_last, runner_, schedule_, batches_.cursors(), outliers_);
  }

  void tell_links() {
    if (!options_.run.record_spans) return;
    for (std::size_t schedule = 0; schedule < links_.size(); ++schedule) {
      const auto links = links_[schedule].gather(world_, options_.run.time_limit_s);
      if (tells()) observer_.links(schedule, links);
    }
  }

  void sample() {
    runner_.reschedule(without_noise(forward_only(scheduled_)));
    const std::vector<std::int32_t> tokens =
        sample_tokens(runner_, model_, groups_, backend_, world_, *options_.sample,
                      options_.run.time_limit_s, [this] { return agreement_.asks_to_end(); });
    if (tells()) observer_.sampled(tokens);
  }

  /// Steps as they are beside steps with even routing. Nothing looks at the parameters afterwards.
  void compare_with_even_routing() {
    load([this](SampleRange samples) { return batches_.read(samples); });
    const BalancedTurns turns =
        take_balanced_turns(runner_, scheduled_, options_.balanced_steps, [this] {
          const BarrierTimes barrier = wait_for_others(world_, options_.run);
          const IterationResult mine = iterate("a step beside those with even routing", false);
          if (agreement_.asks_to_end()) stop("");
          StepReport report;
          merge_timelines(report, {mine, 0, barrier}, scheduled_, groups_, world_, clocks_,
                          options_.run.time_limit_s);
          return report.duration_s;
        });
    if (tells()) observer_.balanced(turns);
  }

  const Model& model_;
  const Program& program_;  ///< without decisions
  const Corpus& corpus_;
  const Groups& groups_;
  Backend& backend_;
  Communicator& world_;
  const TrainOptions& options_;
  const TrainObserver& observer_;
  Schedule schedule_;  ///< in force
  Program scheduled_;  ///< the whole Program under that schedule
  Runner runner_;
  std::optional<Checkpoints> checkpoints_;
  SharedStates states_;
  std::optional<StepFlops> flops_;
  Batches batches_;
  KnownClocks clocks_;
  Planning planning_;
  Agreement agreement_;  ///< of the last iteration or held-out batch
  OutlierHistory outliers_;
  std::vector<LinkTimes> links_;  ///< by schedule that takes turns
  std::int32_t first_ = 1;        ///< the first iteration of this run
};

}  // namespace

void train(const Model& model, const Program& program, Schedule schedule, const Corpus& corpus,
           const Groups& groups, Backend& backend, Communicator& world,
           const std::vector<RankInfo>& ranks, const TrainOptions& options,
           const TrainObserver& observer) {
  Training(model, program, std::move(schedule), corpus, groups, backend, world, ranks, options,
           observer)
      .run();
}

}  // namespace moe
