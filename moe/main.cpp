#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/console/run_program.h"
#include "db/network.h"
#include "moe/command/conversion.h"
#include "moe/command/lists.h"
#include "moe/command/shared_inputs.h"
#include "moe/command/training.h"
#include "moe/communicator/mpi_job.h"
#include "moe/communicator/option_facts.h"
#include "moe/communicator/run_job.h"
#include "moe/errors.h"
#include "moe/outcome.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/measured_plan.h"
#include "tuner/scenario/plan_in_training.h"
#include "tuner/scenario/shipped.h"

namespace {

/// The plans of `--planner`. The planners are the tuner's: this file alone includes it.
class PlannerOfTuner {
 public:
  explicit PlannerOfTuner(const moe::TrainArguments& arguments) : arguments_(arguments) {}

  moe::FirstPlan first(const std::vector<std::string>& settings) {
    if (arguments_.micro_profile_steps > 0) {
      tuner::expect_measuring(arguments_.planner, "--micro-profile-steps");
    }
    const tuner::PlanRequest request = this->request();
    const tuner::Scenario scenario = tuner::plan_scenario(request, settings);
    moe::FirstPlan first{.schedule = tuner::plan_in_training(request, scenario)({}),
                         .costs = tuner::costs_json(scenario)};
    if (arguments_.micro_profile_steps == 0 && tuner::chooses_by_measuring(arguments_.planner)) {
      first.remark =
          fmt::format("{} has chosen by simulation; --micro-profile-steps chooses by running",
                      arguments_.planner);
    }
    return first;
  }

  moe::FurtherPlans further(const moe::Model& model, const std::string& costs) {
    const tuner::PlanRequest request = this->request();
    tuner::PlanInTraining plan =
        tuner::plan_in_training(request, tuner::plan_scenario(request, model, costs));
    if (arguments_.micro_profile_steps > 0) return measured(std::move(plan));
    return {.replan = [plan = std::move(plan), every = arguments_.plan_every](
                          const moe::SeenIteration& seen) -> std::optional<moe::Schedule> {
      if (seen.iteration % every != 0) return std::nullopt;
      return plan({&seen.routing, &seen.in_force});
    }};
  }

 private:
  tuner::PlanRequest request() const {
    const bool measured = tuner::is_measured_cluster(arguments_.cluster);
    return {
        .planner = arguments_.planner,
        .scenario = {.model = arguments_.model,
                     .cluster = arguments_.cluster,
                     .database = measured ? arguments_.database : "",
                     .ranks = arguments_.ranks.value_or(moe::mpi_job_size().value_or(1)),
                     .layout = arguments_.layout,
                     .network =
                         arguments_.in_process ? db::one_gpu_network(arguments_.in_process) : ""},
        .iterations = arguments_.plan_every,
        .memory_limit_bytes = arguments_.memory_limit_bytes,
        .say = [](const std::string& text) { spdlog::info(text); }};
  }

  moe::FurtherPlans measured(tuner::PlanInTraining plan) {
    const auto measured =
        std::make_shared<tuner::MeasuredPlan>(std::move(plan), arguments_.micro_profile_steps);
    moe::FurtherPlans further;
    further.replan = [measured, name = arguments_.planner](const moe::SeenIteration& seen) {
      const bool was_done = measured->is_done();
      auto next = measured->after(seen.routing, seen.duration_s);
      if (measured->is_done() && !was_done) {
        spdlog::info("iteration {}: {} has chosen by {} micro-profiles", seen.iteration, name,
                     measured->measured());
      }
      return next;
    };
    further.last_remark = [measured, name = arguments_.planner]() -> std::string {
      if (measured->is_done()) return "";
      return fmt::format(
          "{} has not chosen yet: training ended after {} micro-profiles; more --steps, or fewer "
          "--micro-profile-steps",
          name, measured->measured());
    };
    return further;
  }

  const moe::TrainArguments& arguments_;
};

/// Compared by what they say, or of use to some ranks alone.
const moe::OptionsThatDiffer kOptionsThatDiffer{
    .freely = {"--model", "--set", "--seed", "--data", "--schedule", "--threads", "--memory-limit",
               "--log", "--log-every"},
    .in_value = {"--db"}};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && moe::is_conversion(argv[1])) return moe::run_conversion(argc, argv);
  CLI::App app("Trains a Mixture-of-Experts transformer for real, under any schedule.",
               "moe-train");
  moe::TrainArguments arguments;
  moe::declare(app, arguments);
  moe::declare_lists(app, {tuner::planner_list()}, tuner::model_list);
  const auto work = [&] {
    arguments.ranks = moe::ranks_of(arguments.ranks, arguments.launcher.hostfile,
                                    arguments.in_process, arguments.device);
    PlannerOfTuner tuners(arguments);
    const moe::TrainingPlanner planner{
        [&](const std::vector<std::string>& settings) { return tuners.first(settings); },
        [&](const moe::Model& model, const std::string& costs) {
          return tuners.further(model, costs);
        }};
    moe::TrainInputs taken;
    moe::JobInputs inputs;
    inputs.given = moe::facts_of_command_line("moe-train", app, kOptionsThatDiffer);
    inputs.read = [&] { return moe::to_json(moe::read_shared_inputs(arguments, planner)); };
    inputs.take = [&](const std::string& read, int rank) {
      const moe::SharedInputs shared = moe::shared_inputs_from_json(read);
      std::vector<moe::InputFact> facts = moe::facts_of_own_files(arguments, shared);
      taken = moe::take_inputs(arguments, shared, planner, rank);
      std::ranges::move(moe::facts_of(arguments, taken), std::back_inserter(facts));
      return facts;
    };
    const auto train = [&](moe::Communicator& world) {
      moe::run_training(arguments, taken, world, argc, argv);
      return 0;
    };
    moe::Job job{arguments.ranks, arguments.time_limit_s, arguments.launcher};
    job.in_process = arguments.in_process;
    if (arguments.output.format == "json") {
      job.failed = [](const moe::Outcome& outcome) {
        std::cout << moe::to_json(outcome) << std::endl;
      };
    }
    return moe::run_job(job, argv, inputs, train);
  };
  return db::run_program(app, argc, argv, work, moe::exit_code);
}
