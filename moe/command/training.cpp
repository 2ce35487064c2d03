#include "moe/command/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "db/connection.h"
#include "db/network.h"
#include "db/run_products.h"
#include "moe/backend/cuda_module.h"
#include "moe/command/checkpoint_inputs.h"
#include "moe/command/data_inputs.h"
#include "moe/command/sample_text.h"
#include "moe/command/shared_inputs.h"
#include "moe/command/step_log.h"
#include "moe/command/training_outputs.h"
#include "moe/communicator/announced_work.h"
#include "moe/communicator/mpi_job.h"
#include "moe/communicator/open_device.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/launched_database.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/zero_rate.h"
#include "moe/outcome.h"
#include "moe/run/processor_time.h"
#include "moe/source_tree.h"
#include "moe/train/chosen_products.h"
#include "moe/train/products.h"
#include "moe/train/trainer.h"
#include "moe/train/turns.h"

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

/// What checkpoints say of this training; none without --checkpoint.
std::optional<CheckpointOptions> checkpoint_options(const TrainArguments& arguments,
                                                    const TrainInputs& inputs,
                                                    const Groups& groups) {
  if (arguments.checkpoint.empty()) return std::nullopt;
  CheckpointOptions options;
  options.directory = arguments.checkpoint;
  options.every = arguments.checkpoint_every;
  options.keep = arguments.keep;
  options.about.model = inputs.model;
  options.about.layout = to_text(groups.layout);
  options.about.corpus_fingerprint = inputs.corpus.fingerprint;
  return options;
}

/// The schedule that the training begins with. One that plans between iterations goes on with the
/// plan in force, where the ranks are divided as they were and the plan is still legal: other keys
/// of [training] may make another program.
Schedule first_schedule(const TrainArguments& arguments, const TrainInputs& inputs,
                        const Groups& groups, const Program& program, bool tells) {
  const Schedule& planned = inputs.plan.schedules.front();
  if (!inputs.resume || arguments.plan_every == 0) return planned;
  const CheckpointIndex& index = inputs.resume->index;
  if (index.layout != to_text(groups.layout) || index.schedule.planner != planned.planner) {
    return planned;
  }
  try {
    check_applies(program, index.schedule, inputs.resume->folder.string());
  } catch (const Refusal& refusal) {
    if (tells) spdlog::warn("the plan in {} is not taken over", refusal.what());
    return planned;
  }
  return index.schedule;
}

/// True where the checkpoint to go on from has all iterations that are asked for.
bool nothing_is_left(const TrainArguments& arguments, const TrainInputs& inputs) {
  return inputs.resume && inputs.resume->index.iteration >= arguments.steps;
}

/// What the model is to write at the end; none without --sample.
std::optional<SampleOptions> sample_options(const TrainArguments& arguments,
                                            const TrainInputs& inputs) {
  if (arguments.sample == 0) return std::nullopt;
  return SampleOptions{prompt_tokens(arguments.prompt, inputs.corpus, inputs.model),
                       arguments.sample, arguments.temperature};
}

/// So many steps tell the share of force-balanced throughput where nobody asked for it.
constexpr int kBalancedSteps = 2;

/// Whether a rule shares rows out after the gate: what it reaches is asked for.
bool shares_rows_out(const Schedule& schedule) {
  return std::ranges::any_of(schedule.decisions, [](const Decision& decision) {
    const auto* replicating = std::get_if<ReplicateExperts>(&decision);
    return replicating != nullptr && shares_rows_out(replicating->placement);
  });
}

/// TrainOptions::balanced_steps
int balanced_steps(const TrainArguments& arguments, const TrainInputs& inputs) {
  const std::vector<Schedule>& schedules = inputs.plan.schedules;
  const bool asks = schedules.size() == 1 && shares_rows_out(schedules.front()) &&
                    !only_evaluates(arguments, inputs);
  return arguments.balanced_steps.value_or(asks ? kBalancedSteps : 0);
}

TrainOptions train_options(const TrainArguments& arguments, const TrainInputs& inputs,
                           const Groups& groups, const OpenDevice& device) {
  const SchedulePlan& plan = inputs.plan;
  TrainOptions options;
  options.checkpoint = checkpoint_options(arguments, inputs, groups);
  options.resume = inputs.resume;
  options.data = inputs.data;
  options.balanced_steps = balanced_steps(arguments, inputs);
  options.only_evaluates = only_evaluates(arguments, inputs);
  options.sample = sample_options(arguments, inputs);
  options.run.device_world = device.world.get();
  const auto turns = static_cast<int>(plan.schedules.size());
  if (turns > 1) options.turns = plan.schedules;
  options.steps = arguments.steps * turns;
  options.evaluate_every = arguments.evaluate_every * turns;
  options.evaluate_batches = arguments.evaluate_batches;
  options.run.time_limit_s = arguments.time_limit_s;
  options.run.memory_limit_bytes =
      arguments.memory_limit_bytes > 0 ? arguments.memory_limit_bytes : device.memory_bytes;
  if (arguments.memory_limit_bytes == 0) options.run.bytes_left = device.bytes_left;
  options.run.record_spans = arguments.timelines > 0 && !arguments.database.empty();
  options.run.check_each_op = arguments.check_each_op;
  options.replan = turns > 1 ? in_turns(plan.schedules) : plan.replan;
  options.planning = arguments.plan_beside ? PlanningTurn::beside : PlanningTurn::between;
  return options;
}

/// Tells a person what begins, before the first iteration.
void say_what_begins(const TrainArguments& arguments, const TrainInputs& inputs,
                     const Groups& groups, const OpenDevice& device,
                     const std::vector<RankInfo>& ranks) {
  const std::vector<std::string> names = schedule_names(inputs.plan);
  spdlog::info("{} on {} rank{} ({}), {}schedule{} {}, {}", inputs.model.name, ranks.size(),
               ranks.size() == 1 ? "" : "s", device.backend->name(),
               ranks.size() == 1 ? "" : "layout " + to_text(groups.layout) + ", ",
               names.size() == 1 ? "" : "s that take turns:", fmt::join(names, ", "),
               inputs.corpus.description);
  for (const std::string& remark : inputs.corpus.remarks) spdlog::info(remark);
  if (arguments.device == "cuda" && cuda_is_emulated()) {
    spdlog::warn("the CUDA device is emulated in software: its times say nothing about a GPU");
  }
  if (arguments.in_process) {
    spdlog::info("{} node{} in one GPU: {}", arguments.in_process.nodes(),
                 arguments.in_process.nodes() == 1 ? "" : "s",
                 db::one_gpu_network(arguments.in_process));
  }
  if (!inputs.plan.remark.empty()) spdlog::info(inputs.plan.remark);
  if (const std::string remark = remark_on_threads(device, ranks); !remark.empty()) {
    spdlog::warn(remark);
  }
  if (inputs.model.dtype == DType::bf16 && arguments.device == "cpu") {
    if (const std::string remark = remark_on_bf16(); !remark.empty()) spdlog::warn(remark);
  }
  if (inputs.resume) {
    spdlog::info("goes on from iteration {} of {}{}", inputs.resume->index.iteration,
                 inputs.resume->folder.string(),
                 nothing_is_left(arguments, inputs) && !only_evaluates(arguments, inputs)
                     ? ": nothing is left to do"
                     : "");
    for (const std::string& remark : inputs.resume->remarks) spdlog::warn(remark);
  } else if (arguments.resume) {
    spdlog::info("{} has no checkpoint: the training begins anew", arguments.checkpoint.string());
  }
  const std::string remark = remark_on_zero_rate(inputs.model, iterations_of(arguments, inputs));
  if (!remark.empty() && !only_evaluates(arguments, inputs)) spdlog::warn(remark);
  for (const Schedule& schedule : inputs.plan.schedules) {
    if (const std::string decisions = changes_results(schedule); !decisions.empty()) {
      spdlog::warn("{} changes results: losses are not those of other schedules", decisions);
    }
  }
}

/// Refuses options that a training without iterations has no use for.
void check_evaluation(const TrainArguments& arguments, const TrainInputs& inputs) {
  if (arguments.sample > 0) prompt_tokens(arguments.prompt, inputs.corpus, inputs.model);
  if (!arguments.evaluate_only) return;
  if (arguments.evaluate_batches == 0 && arguments.sample == 0) {
    throw InputError(
        "--evaluate-only: with --evaluate-batches 0 there is nothing to do: expected 1 or more");
  }
  if (arguments.balanced_steps.value_or(0) > 0) {
    throw InputError("--balanced-steps: --evaluate-only has no iteration: expected one of them");
  }
  if (!arguments.database.empty()) {
    throw InputError("--db: --evaluate-only has no iteration to store: expected no --db");
  }
  if (arguments.resume && !inputs.resume) {
    throw InputError(
        fmt::format("--evaluate-only: {} has no checkpoint: expected one, or no "
                    "--resume for the initial parameters",
                    arguments.checkpoint.string()));
  }
}

/// Has a GPU's products carried out in the fastest ways, where a database keeps them: another run
/// would otherwise choose others, and get other bits.
std::vector<db::RunProduct> choose_ways(const TrainArguments& arguments, const TrainInputs& inputs,
                                        const Groups& groups, const Program& program,
                                        const Schedule& begins, const OpenDevice& device,
                                        Communicator& world) {
  if (arguments.device != "cuda" || arguments.database.empty()) return {};
  if (only_evaluates(arguments, inputs)) return {};
  std::vector<Schedule> schedules = inputs.plan.schedules;
  schedules.front() = begins;
  std::set<Product> products;
  for (const Schedule& schedule : schedules) {
    for (Product& one : products_of(apply(program, schedule), groups, world.rank)) {
      products.insert(one);
    }
  }
  const auto known = [&](const std::string& library) {
    expect_database_of_launcher(arguments.database);
    const db::Connection stored =
        db::open_writer(arguments.database, {.busy_timeout_s = arguments.time_limit_s});
    std::vector<KnownWay> ways;
    for (const db::RunProduct& row : db::load_products_of(stored, library)) {
      if (const auto product = product_of(row.product)) {
        ways.push_back({row.library, {*product, row.algorithm, row.duration_s, row.unasked_s}});
      }
    }
    return ways;
  };
  std::vector<db::RunProduct> rows;
  for (const auto& [library, way] :
       choose_products(world, *device.backend, {products.begin(), products.end()}, known,
                       arguments.time_limit_s)) {
    rows.push_back(
        {0, library, product_text(way.product), way.algorithm, way.duration_s, way.unasked_s});
  }
  return rows;
}

}  // namespace

std::int64_t iterations_of(const TrainArguments& arguments, const TrainInputs& inputs) {
  return arguments.steps * static_cast<std::int64_t>(inputs.plan.schedules.size());
}

bool only_evaluates(const TrainArguments& arguments, const TrainInputs& inputs) {
  return arguments.evaluate_only || (arguments.sample > 0 && nothing_is_left(arguments, inputs));
}

namespace {

/// Before there are ranks: an error needs none of them.
void try_for_ranks(const TrainArguments& arguments, const TrainInputs& inputs) {
  const int ranks = arguments.ranks.value_or(1);
  const Groups groups = make_groups(parse_layout(arguments.layout, ranks, fits(inputs.model)));
  const Program program = build_iteration(inputs.model, groups, 0);
  for (std::size_t i = 0; i < inputs.plan.schedules.size(); ++i) {
    check_applies(program, inputs.plan.schedules[i], inputs.plan.from[i]);
  }
  if (!arguments.database.empty()) {
    tell_ranks(db::open_writer(arguments.database, {.busy_timeout_s = arguments.time_limit_s}));
  }
}

/// The plans of rank 0 between iterations. All ranks wait for them, and so have to know of them.
FurtherPlans further_plans(const TrainArguments& arguments, const TrainingPlanner& planner,
                           const Model& model, const std::string& costs, int rank) {
  if (arguments.plan_every == 0 && arguments.micro_profile_steps == 0) return {};
  if (rank == 0) return planner.further(model, costs);
  return {.replan = [](const SeenIteration&) -> std::optional<Schedule> {
    throw std::logic_error("rank 0 plans for all");
  }};
}

}  // namespace

TrainInputs take_inputs(const TrainArguments& arguments, const SharedInputs& shared,
                        const TrainingPlanner& planner, int rank) {
  if (rank == 0) refuse_log(arguments.log, arguments.database);
  TrainInputs inputs;
  inputs.model = shared.model;
  read_checkpoint(arguments, inputs);
  FurtherPlans further = further_plans(arguments, planner, inputs.model, shared.costs, rank);
  inputs.plan = {.schedules = shared.schedules,
                 .from = shared.schedules_from,
                 .replan = std::move(further.replan),
                 .remark = shared.remark,
                 .last_remark = std::move(further.last_remark)};
  inputs.corpus = open_data(arguments, inputs.model);
  check_evaluation(arguments, inputs);
  inputs.data = data_options(arguments, inputs.model, inputs.corpus, inputs.resume);
  if (!inside_mpi_job()) try_for_ranks(arguments, inputs);
  return inputs;
}

std::vector<InputFact> facts_of(const TrainArguments& arguments, const TrainInputs& inputs) {
  std::vector<InputFact> facts = facts_of_data(inputs.corpus);
  if (arguments.resume) {
    // Ranks of other computers may see another state of a shared folder.
    facts.push_back(
        {fmt::format("the last checkpoint in {}", arguments.checkpoint.string()),
         inputs.resume ? inputs.resume->folder.filename().string() : std::string("none"),
         std::nullopt, "another training may have written it meanwhile: begin again"});
  }
  return facts;
}

void run_training(const TrainArguments& arguments, const TrainInputs& inputs, Communicator& world,
                  int argc, char** argv) {
  const std::vector<RankInfo> ranks =
      survey_ranks(world, arguments.time_limit_s, node_in_gpu(arguments.in_process, world.rank));
  const Groups groups =
      make_groups(parse_layout(arguments.layout, world.size, fits(inputs.model)), nodes_of(ranks));
  const Program program = build_iteration(inputs.model, groups, world.rank);
  if (!arguments.print_program.empty()) {
    const bool every_pass = arguments.print_program == "passes";
    if (world.rank == 0) print_program(program, inputs.plan.schedules.front(), every_pass);
    return;
  }
  DeviceWish wish{arguments.device == "cuda", arguments.threads, arguments.time_limit_s,
                  arguments.copy_gbps * 1e9 / 8};
  if (arguments.in_process) wish.cluster = gpu_cluster_of(arguments.in_process);
  const OpenDevice device = open_device(world, ranks, wish);
  const RankInfo& here = ranks[world.rank];
  spdlog::debug("rank {} is process {} on {} and computes on {}", world.rank, here.pid,
                here.hostname, device.backend->name());
  if (world.rank == 0) {
    say_what_begins(arguments, inputs, groups, device, ranks);
  }
  if (nothing_is_left(arguments, inputs) && !only_evaluates(arguments, inputs)) {
    const bool tells = world.rank == 0 && arguments.output.format == "json";
    if (tells) std::cout << to_json(Outcome{OutcomeStatus::done}) << '\n';
    return;
  }
  const Schedule begins = first_schedule(arguments, inputs, groups, program, world.rank == 0);
  const std::vector<db::RunProduct> products =
      choose_ways(arguments, inputs, groups, program, begins, device, world);
  TrainingOutputs outputs;  // of rank 0
  if (world.rank == 0) {
    const AnnouncedWork opening("opens its database and log");
    open_outputs(outputs, arguments, inputs, groups, begins, ranks, device, products, {argc, argv});
  }
  try {
    const ProcessorTime before = processor_time();
    train(inputs.model, program, begins, inputs.corpus, groups, *device.backend, world, ranks,
          train_options(arguments, inputs, groups, device),
          observer_of(arguments, inputs, outputs));
    const std::string last =
        world.rank == 0 && inputs.plan.last_remark ? inputs.plan.last_remark() : "";
    if (!last.empty()) spdlog::warn(last);
    const std::vector<double> shares =
        shares_of_others(world, processor_time() - before, ranks, arguments.time_limit_s);
    for (TrainStore& store : outputs.stores) store.observe_others(shares);
    const AnnouncedWork storing("stores the end of the run");
    complete_runs(outputs);
  } catch (const std::exception& error) {
    const AnnouncedWork storing("stores the end of the run");
    abandon_runs(outputs, error);
    throw;
  }
  if (outputs.report) print_summaries(outputs);
}

}  // namespace moe
