#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "db/console/run_program.h"
#include "moe/command/conversion.h"
#include "moe/command/lists.h"
#include "moe/command/training.h"
#include "moe/communicator/launch.h"
#include "moe/communicator/run_job.h"
#include "moe/errors.h"
#include "moe/outcome.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/measured_plan.h"
#include "tuner/scenario/plan_in_training.h"

namespace {

/// The plan of `--planner`. The planners are the tuner's: this file alone includes it.
moe::SchedulePlan make_plan(const moe::TrainArguments& arguments,
                            const std::vector<std::string>& settings) {
  const tuner::PlanInTraining plan = tuner::plan_in_training(
      {arguments.planner, arguments.model, settings, arguments.cluster,
       tuner::is_measured_cluster(arguments.cluster) ? arguments.database : "",
       arguments.ranks.value_or(moe::mpi_job_size().value_or(1)), arguments.layout,
       arguments.plan_every, arguments.memory_limit_bytes,
       [](const std::string& text) { spdlog::info(text); }});
  const bool measures = arguments.micro_profile_steps > 0;
  if (measures) tuner::expect_measuring(arguments.planner, "--micro-profile-steps");
  moe::SchedulePlan result{.schedules = {plan({})}};
  if (arguments.plan_every > 0) {
    result.replan = [plan, every = arguments.plan_every](
                        const moe::SeenIteration& seen) -> std::optional<moe::Schedule> {
      if (seen.iteration % every != 0) return std::nullopt;
      return plan({&seen.routing, &seen.in_force});
    };
  }
  const std::string& name = arguments.planner;
  if (measures) {
    const auto measured =
        std::make_shared<tuner::MeasuredPlan>(plan, arguments.micro_profile_steps);
    result.replan = [measured, name](const moe::SeenIteration& seen) {
      const bool was_done = measured->is_done();
      auto next = measured->after(seen.routing, seen.duration_s);
      if (measured->is_done() && !was_done) {
        spdlog::info("iteration {}: {} has chosen by {} micro-profiles", seen.iteration, name,
                     measured->measured());
      }
      return next;
    };
    result.last_remark = [measured, name]() -> std::string {
      if (measured->is_done()) return "";
      return fmt::format(
          "{} has not chosen yet: training ended after {} micro-profiles; more --steps, or fewer "
          "--micro-profile-steps",
          name, measured->measured());
    };
  } else if (tuner::chooses_by_measuring(name)) {
    result.remark =
        fmt::format("{} has chosen by simulation; --micro-profile-steps chooses by running", name);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && moe::is_conversion(argv[1])) return moe::run_conversion(argc, argv);
  CLI::App app("Trains a Mixture-of-Experts transformer for real, under any schedule.",
               "moe-train");
  moe::TrainArguments arguments;
  moe::declare(app, arguments);
  moe::declare_lists(app, {tuner::planner_list()});
  const auto work = [&] {
    moe::TrainInputs inputs;
    const auto read = [&] {
      inputs = moe::read_inputs(arguments, [&](const std::vector<std::string>& settings) {
        return make_plan(arguments, settings);
      });
    };
    const auto train = [&](moe::Communicator& world) {
      moe::run_training(arguments, inputs, world, argc, argv);
      return 0;
    };
    moe::Job job{arguments.ranks, arguments.time_limit_s};
    if (arguments.output.format == "json") {
      job.failed = [](const moe::Outcome& outcome) {
        std::cout << moe::to_json(outcome) << std::endl;
      };
    }
    return moe::run_job(job, argv, read, train);
  };
  return db::run_program(app, argc, argv, work, moe::exit_code);
}
