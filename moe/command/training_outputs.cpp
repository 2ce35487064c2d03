#include "moe/command/training_outputs.h"

#include <spdlog/spdlog.h>

#include <csignal>
#include <functional>

#include "db/console/format_rows.h"
#include "db/console/output_error.h"
#include "db/error.h"
#include "db/identity.h"
#include "db/network.h"
#include "moe/backend/cuda_module.h"
#include "moe/command/data_inputs.h"
#include "moe/command/sample_text.h"
#include "moe/command/step_figures.h"
#include "moe/launched_database.h"
#include "moe/lost_output.h"
#include "moe/model/model_json.h"
#include "moe/model/zero_rate.h"
#include "moe/stop.h"
#include "moe/train/turns.h"

namespace moe {
namespace {

std::int64_t tokens_of_iteration(const Model& model) {
  return model.global_batch * model.sequence_length;
}

StepScale scale_of(const TrainArguments& arguments, const Model& model, const OpenDevice& device,
                   int ranks) {
  const auto threads =
      device.threads.empty() ? std::nullopt : std::optional(device.threads.front());
  return {tokens_of_iteration(model),
          measured_peak(arguments.database, model, arguments.device, threads, ranks)};
}

/// Says why an iteration made no update.
void say_outlier(const StepReport& step) {
  if (!step.outlier) return;
  spdlog::warn("iteration {}: no update: the {} is {:.6g}, an outlier above {:.6g}; {} so far",
               step.iteration, step.outlier->quantity, step.outlier->value, step.outlier->limit,
               step.skipped);
}

/// Names hosts to and from which bytes travelled slowly, where that is clear.
void say_slow_hosts(const TrainStore& store) {
  for (const std::string& finding : store.slow_hosts()) {
    spdlog::warn("run {}: slow exchanges with {}; moe-bench pairs measures links alone",
                 store.run_id(), finding);
  }
}

/// Carries out what writes to an output that can be written (`is_whole`), and notes it where that
/// fails.
void guarded(TrainingOutputs& outputs, bool& is_whole, const std::function<void()>& write) {
  if (!is_whole) return;
  std::string why;
  try {
    write();
    return;
  } catch (const db::OutputError& error) {
    why = error.what();
  } catch (const db::Error& error) {
    why = error.what();
  }
  is_whole = false;
  if (outputs.lost.empty()) outputs.lost = why;
}

void report_step(TrainingOutputs& outputs, const StepReport& step, std::size_t schedule) {
  guarded(outputs, outputs.has_report, [&] {
    try {
      outputs.report->observe(step, schedule);
    } catch (const db::OutputError& error) {
      if (!error.closed()) throw;  // else SIGPIPE says so too, and all ranks end in order
    }
  });
}

/// Tells the store and the report of the schedule whose turn it was, and the log.
void tell_step(const TrainArguments& arguments, const TrainInputs& inputs, TrainingOutputs& outputs,
               const StepReport& step) {
  const Turn turn = turn_of(step.iteration, inputs.plan.schedules.size());
  const bool takes_turns = inputs.plan.schedules.size() > 1;
  std::optional<StepReport> renumbered;  // it has all spans, so it is copied only where it differs
  if (takes_turns) {
    renumbered = step;
    renumbered->iteration = turn.iteration;
  }
  const StepReport& own = renumbered ? *renumbered : step;
  if (outputs.log) {
    guarded(outputs, outputs.has_log, [&] {
      outputs.log->write(own, takes_turns ? inputs.plan.schedules[turn.schedule].planner : "");
      const bool is_first = own.iteration == 1 && !takes_turns && !inputs.resume;
      if (is_first && !arguments.checkpoint.empty() && outputs.log->place()) {
        note_log_begin(arguments.checkpoint, *outputs.log->place());
      }
    });
  }
  say_outlier(step);
  if (step.learning_rate == 0 && !outputs.said_zero_rate &&
      zero_rate_from(inputs.model, iterations_of(arguments, inputs))) {
    spdlog::warn("iteration {}: the learning rate is 0 from here on", step.iteration);
    outputs.said_zero_rate = true;
  }
  say_epochs(inputs.data, inputs.corpus, tokens_of_iteration(inputs.model), step);
  if (!outputs.stores.empty()) {
    TrainStore& store = outputs.stores[turn.schedule];
    if (!outputs.has_stores) store.keep(own);  // it is stored at the end, if it can be by then
    guarded(outputs, outputs.has_stores, [&] { store.observe(own); });
    if (step.iteration == 1 && !arguments.loads_every && store.loads_every() > 1) {
      spdlog::info(
          "loads per expert and rank are stored every {} iterations; --loads-every changes that",
          *store.loads_every());
    }
  }
  report_step(outputs, own, turn.schedule);
}

/// Where a training that is resumed goes on in its log.
std::optional<LogResumed> log_resumed(const TrainArguments& arguments, const TrainInputs& inputs) {
  if (!arguments.resume) return std::nullopt;
  if (!inputs.resume) return LogResumed{0, noted_log_begin(arguments.checkpoint)};
  return LogResumed{inputs.resume->index.iteration, inputs.resume->index.log};
}

void open_stores(TrainingOutputs& outputs, const TrainArguments& arguments,
                 const TrainInputs& inputs, const StepScale& scale, const Groups& groups,
                 const Schedule& begins, const std::vector<RankInfo>& ranks,
                 const OpenDevice& device, const std::vector<db::RunProduct>& products,
                 const CommandLine& command_line) {
  db::Run run = db::this_run("train", inputs.model.name, command_line.argc, command_line.argv);
  run.device = arguments.device == "cuda" && cuda_is_emulated() ? "emulated" : arguments.device;
  run.ranks = static_cast<int>(ranks.size());
  if (arguments.in_process) run.network = db::one_gpu_network(arguments.in_process);
  run.layout = to_text(groups.layout);
  run.model_json = to_json(inputs.model);
  run.seed = inputs.model.seed;
  run.peak_flops_per_s = scale.peak_flops_per_s;
  const bool takes_turns = inputs.plan.schedules.size() > 1;
  for (const Schedule& schedule : inputs.plan.schedules) {
    outputs.stores.emplace_back(
        TrainStoreOptions{.database = arguments.database,
                          .timelines = arguments.timelines,
                          .time_limit_s = arguments.time_limit_s,
                          .steps = arguments.steps,
                          .loads_every = arguments.loads_every,
                          .threads = device.threads,
                          .resumes = inputs.resume ? inputs.resume->index.run : std::nullopt,
                          .resumes_after = inputs.resume ? inputs.resume->index.iteration : 0,
                          .products = products},
        run, schedule_row(takes_turns ? schedule : begins), ranks, groups);
  }
}

CheckpointObserver checkpoint_observer_of(const TrainInputs& inputs, TrainingOutputs& outputs) {
  CheckpointObserver observer;
  observer.begun = [&inputs, &outputs](CheckpointIndex& index) {
    if (!outputs.stores.empty()) {
      index.run = outputs.stores.front().identity();
    } else if (inputs.resume) {
      index.run = inputs.resume->index.run;  // the last one that is stored
    }
    // Of a log that can be written no more: after its last whole line.
    if (outputs.log) index.log = outputs.log->place();
    if (!index.log && inputs.resume) index.log = inputs.resume->index.log;
  };
  observer.completing = [&outputs] {
    outputs.has_stores = true;  // tries again: a full disk may have room by now
    guarded(outputs, outputs.has_stores, [&outputs] {
      for (TrainStore& store : outputs.stores) store.flush_for_checkpoint();
    });
  };
  observer.completed = [](const CheckpointReport& one) {
    forget_log_begin(one.folder.parent_path());
    spdlog::info("checkpoint of iteration {}: {}, {} in {}, {} of them between iterations",
                 one.iteration, one.folder.string(), db::format_cell("bytes", one.bytes),
                 db::format_cell("duration_s", one.written_s),
                 db::format_cell("duration_s", one.stopped_s));
  };
  return observer;
}

}  // namespace

std::vector<std::string> schedule_names(const SchedulePlan& plan) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.schedules.size(); ++i) {
    const std::string& planner = plan.schedules[i].planner;
    names.push_back(planner.empty() ? "of " + plan.from.at(i) : planner);
  }
  return names;
}

void open_outputs(TrainingOutputs& outputs, const TrainArguments& arguments,
                  const TrainInputs& inputs, const Groups& groups, const Schedule& begins,
                  const std::vector<RankInfo>& ranks, const OpenDevice& device,
                  const std::vector<db::RunProduct>& products, const CommandLine& command_line) {
  if (!arguments.database.empty()) expect_database_of_launcher(arguments.database);
  const StepScale scale = scale_of(arguments, inputs.model, device, static_cast<int>(ranks.size()));
  outputs.report.emplace(arguments, inputs.model, scale, schedule_names(inputs.plan),
                         only_evaluates(arguments, inputs));
  if (!arguments.log.empty()) {
    outputs.log.emplace(arguments.log, scale, log_resumed(arguments, inputs),
                        arguments.time_limit_s);
  }
  if (!arguments.database.empty() && !only_evaluates(arguments, inputs)) {
    open_stores(outputs, arguments, inputs, scale, groups, begins, ranks, device, products,
                command_line);
  }
}

TrainObserver observer_of(const TrainArguments& arguments, const TrainInputs& inputs,
                          TrainingOutputs& outputs) {
  const std::size_t schedules = inputs.plan.schedules.size();
  TrainObserver observer;
  observer.schedule = [&outputs, schedules](int iteration, const Schedule& schedule,
                                            const Program& scheduled) {
    const Turn turn = turn_of(iteration, schedules);
    const bool is_known = schedules > 1 && turn.iteration > 1;
    if (!outputs.stores.empty() && !is_known) {
      outputs.stores[turn.schedule].observe(turn.iteration, schedule, scheduled);
    }
  };
  if (arguments.plan_every > 0) {
    observer.planned = [&outputs](const PlanningTime& time) { outputs.report->observe(time); };
  }
  observer.moved = [](int iteration, const ExpertTraffic& traffic, double duration_s) {
    spdlog::info("before iteration {}: {} experts to other ranks, {} in {}", iteration,
                 traffic.experts, db::format_cell("bytes", traffic.bytes),
                 db::format_cell("duration_s", duration_s));
  };
  observer.checkpoint = checkpoint_observer_of(inputs, outputs);
  observer.balanced = [&outputs](const BalancedTurns& turns) {
    outputs.report->observe(turns);
    guarded(outputs, outputs.has_stores, [&] {
      for (TrainStore& store : outputs.stores) store.observe(turns);
    });
  };
  observer.links = [&outputs](std::size_t schedule, const std::vector<db::RunLink>& links) {
    if (!outputs.stores.empty()) outputs.stores[schedule].observe(links);
  };
  observer.evaluated = [&outputs](int iteration, double heldout_loss) {
    outputs.report->evaluated(iteration, heldout_loss);
  };
  observer.sampled = [&arguments, &inputs, &outputs](const std::vector<std::int32_t>& tokens) {
    const auto prompt = prompt_tokens(arguments.prompt, inputs.corpus, inputs.model);
    outputs.report->sampled(said_by(prompt, inputs.corpus), between(inputs.corpus),
                            said_by(tokens, inputs.corpus));
  };
  observer.step = [&arguments, &inputs, &outputs](const StepReport& step) {
    tell_step(arguments, inputs, outputs, step);
  };
  observer.lost_output = [&outputs] { return outputs.lost; };
  return observer;
}

void complete_runs(TrainingOutputs& outputs) {
  if (outputs.log) guarded(outputs, outputs.has_log, [&] { outputs.log->expect_in_place(); });
  if (!outputs.lost.empty()) {
    if (stop_signal() == SIGPIPE) throw Stopped(outputs.lost, SIGPIPE);
    throw LostOutput(outputs.lost);
  }
  for (TrainStore& store : outputs.stores) store.finish();
}

void abandon_runs(TrainingOutputs& outputs, const std::exception& error) noexcept {
  const bool killed = stop_signal() != 0 || dynamic_cast<const Stopped*>(&error) != nullptr ||
                      dynamic_cast<const Interrupted*>(&error) != nullptr;
  for (TrainStore& store : outputs.stores) {
    store.abandon(killed ? "killed" : "failed", error.what());
  }
}

void print_summaries(TrainingOutputs& outputs) {
  std::vector<std::int64_t> runs;
  for (const TrainStore& store : outputs.stores) runs.push_back(store.run_id());
  outputs.report->finish(runs);
  for (const TrainStore& store : outputs.stores) say_slow_hosts(store);
}

}  // namespace moe
