#include "moe/command/training.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <optional>

#include "db/connection.h"
#include "db/console/format_rows.h"
#include "db/console/output_error.h"
#include "db/identity.h"
#include "moe/command/report.h"
#include "moe/communicator/open_device.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/model_json.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "moe/train/train_store.h"
#include "moe/train/trainer.h"

namespace moe {
namespace {

/// The ops as they are scheduled, or after every decision that schedules them.
void print_program(const Program& program, const Schedule& schedule, bool every_pass) {
  const auto print = [](const std::string& title, const Program& shown) {
    std::cout << "# " << title << '\n' << to_text(shown);
  };
  if (!every_pass) {
    std::cout << to_text(apply(program, schedule));
    return;
  }
  print("the iteration", program);
  apply(program, schedule,
        [&](const Decision& decision, const Program& shown) { print(to_json(decision), shown); });
}

TrainOptions train_options(const TrainArguments& arguments, const SchedulePlan& plan,
                           const OpenDevice& device) {
  TrainOptions options;
  options.run.device_world = device.nccl.get();
  options.steps = arguments.steps;
  options.evaluate_every = arguments.evaluate_every;
  options.evaluate_batches = arguments.evaluate_batches;
  options.run.time_limit_s = arguments.time_limit_s;
  options.run.memory_limit_bytes =
      arguments.memory_limit_bytes > 0 ? arguments.memory_limit_bytes : device.memory_bytes;
  options.run.record_spans = arguments.timelines > 0;
  options.replan = plan.replan;
  options.planning = arguments.plan_beside ? PlanningTurn::beside : PlanningTurn::between;
  return options;
}

/// Tells a person what begins, before the first iteration.
void say_what_begins(const TrainArguments& arguments, const TrainInputs& inputs,
                     const Groups& groups, const Backend& backend, int ranks) {
  const Schedule& schedule = inputs.plan.first;
  spdlog::info("{} on {} rank{} ({}), {}schedule {}, {}", inputs.model.name, ranks,
               ranks == 1 ? "" : "s", backend.name(),
               ranks == 1 ? "" : "layout " + to_text(groups.layout) + ", ",
               schedule.planner.empty() ? "of " + arguments.schedule : schedule.planner,
               inputs.corpus.description);
  if (!inputs.plan.remark.empty()) spdlog::info(inputs.plan.remark);
  if (inputs.model.dtype == DType::bf16 && arguments.device == "cpu") {
    if (const std::string remark = remark_on_bf16(); !remark.empty()) spdlog::warn(remark);
  }
  if (const std::string names = changes_results(schedule); !names.empty()) {
    spdlog::warn("{} changes results: losses are not those of other schedules", names);
  }
}

void open_store(std::optional<TrainStore>& store, const TrainArguments& arguments,
                const TrainInputs& inputs, const Groups& groups, const std::vector<RankInfo>& ranks,
                const OpenDevice& device, int argc, char** argv) {
  db::Run run = db::this_run("train", inputs.model.name, argc, argv);
  run.device = arguments.device;
  run.ranks = static_cast<int>(ranks.size());
  run.layout = to_text(groups.layout);
  run.model_json = to_json(inputs.model);
  run.seed = inputs.model.seed;
  store.emplace(TrainStoreOptions{.database = arguments.database,
                                  .timelines = arguments.timelines,
                                  .time_limit_s = arguments.time_limit_s,
                                  .steps = arguments.steps,
                                  .loads_every = arguments.loads_every,
                                  .threads = device.threads},
                std::move(run), schedule_row(inputs.plan.first), ranks, groups);
}

/// Tells rank 0's store and report of everything; both may be empty.
TrainObserver observer_of(const TrainArguments& arguments, std::optional<TrainStore>& store,
                          std::optional<TrainReport>& report) {
  TrainObserver observer;
  observer.schedule = [&](int iteration, const Schedule& schedule, const Program& scheduled) {
    if (store) store->observe(iteration, schedule, scheduled);
  };
  if (arguments.plan_every > 0) {
    observer.planned = [&](const PlanningTime& time) { report->observe(time); };
  }
  observer.moved = [](int iteration, const ExpertTraffic& traffic, double duration_s) {
    spdlog::info("before iteration {}: {} experts to other ranks, {} in {}", iteration,
                 traffic.experts, db::format_cell("bytes", traffic.bytes),
                 db::format_cell("duration_s", duration_s));
  };
  observer.step = [&](const StepReport& step) {
    if (store) store->observe(step);
    if (store && step.iteration == 1 && !arguments.loads_every && store->loads_every() > 1) {
      spdlog::info(
          "loads per expert and rank are stored every {} iterations; --loads-every changes that",
          *store->loads_every());
    }
    try {
      report->observe(step);
    } catch (const db::OutputError& error) {
      if (!error.closed()) throw;  // else SIGPIPE says so too, and all ranks end in order
    }
  };
  return observer;
}

}  // namespace

TrainInputs read_inputs(const TrainArguments& arguments,
                        const std::function<SchedulePlan()>& make_plan) {
  if (arguments.plan_beside && arguments.plan_every == 0) {
    throw InputError(
        "--plan-beside: with --plan-every 0 there is one plan, before the first iteration: "
        "expected --plan-every 1 or more");
  }
  TrainInputs inputs;
  inputs.model = load_model(find_input(arguments.model, source_tree() / "experiments" / "models"),
                            arguments.settings);
  if (arguments.seed) inputs.model.seed = *arguments.seed;
  if (!arguments.schedule.empty()) {
    inputs.plan.first = load_schedule(arguments.schedule);
  } else if (!arguments.planner.empty()) {
    inputs.plan = make_plan();
  } else {
    inputs.plan.first.planner = db::kSequential;
  }
  inputs.corpus =
      open_corpus(arguments.data, {inputs.model.vocabulary, inputs.model.sequence_length, 0.1});
  if (inside_mpi_job()) return inputs;
  const int ranks = arguments.ranks.value_or(1);
  const Groups groups = make_groups(parse_layout(arguments.layout, ranks, fits(inputs.model)));
  check_applies(build_iteration(inputs.model, groups, 0), inputs.plan.first, arguments.schedule);
  if (!arguments.database.empty()) {
    db::open_writer(arguments.database, {.busy_timeout_s = arguments.time_limit_s});
  }
  return inputs;
}

void run_training(const TrainArguments& arguments, const TrainInputs& inputs, Communicator& world,
                  int argc, char** argv) {
  const std::vector<RankInfo> ranks = survey_ranks(world, arguments.time_limit_s);
  const Groups groups =
      make_groups(parse_layout(arguments.layout, world.size, fits(inputs.model)), nodes_of(ranks));
  const Program program = build_iteration(inputs.model, groups, world.rank);
  if (!arguments.print_program.empty()) {
    const bool every_pass = arguments.print_program == "passes";
    if (world.rank == 0) print_program(program, inputs.plan.first, every_pass);
    return;
  }
  const OpenDevice device = open_device(world, ranks,
                                        {arguments.device == "cuda", arguments.threads,
                                         arguments.time_limit_s, arguments.copy_gbps * 1e9 / 8});
  const RankInfo& here = ranks[world.rank];
  spdlog::debug("rank {} is process {} on {} and computes on {}", world.rank, here.pid,
                here.hostname, device.backend->name());
  std::optional<TrainReport> report;  // on rank 0
  std::optional<TrainStore> store;    // on rank 0, with --db
  if (world.rank == 0) {
    say_what_begins(arguments, inputs, groups, *device.backend, world.size);
    report.emplace(arguments, inputs.model);
    if (!arguments.database.empty()) {
      open_store(store, arguments, inputs, groups, ranks, device, argc, argv);
    }
  }
  try {
    train(inputs.model, program, inputs.plan.first, inputs.corpus, groups, *device.backend, world,
          ranks, train_options(arguments, inputs.plan, device),
          observer_of(arguments, store, report));
    const std::string last =
        world.rank == 0 && inputs.plan.last_remark ? inputs.plan.last_remark() : "";
    if (!last.empty()) spdlog::warn(last);
    if (store) store->finish();
  } catch (const std::exception& error) {
    const bool killed = stop_signal() != 0 || dynamic_cast<const Stopped*>(&error) != nullptr ||
                        dynamic_cast<const Interrupted*>(&error) != nullptr;
    if (store) store->abandon(killed ? "killed" : "failed", error.what());
    throw;
  }
  if (report) report->finish(store ? std::optional(store->run_id()) : std::nullopt);
}

}  // namespace moe
