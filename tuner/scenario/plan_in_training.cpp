#include "tuner/scenario/plan_in_training.h"

#include <fmt/format.h>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/scenario.h"

namespace tuner {
namespace {

Scenario scenario_of(const PlanRequest& request) {
  ScenarioOptions options;
  options.model = request.model;
  options.cluster = request.cluster;
  options.database = request.database;
  options.ranks = request.ranks;
  options.layout = request.layout;
  options.settings = request.settings;
  Scenario scenario = load_scenario(options);
  for (const std::string& remark : scenario.remarks) request.say(remark);
  // All ranks wait for the plan, so schedules are judged by one iteration.
  scenario.costs.slowdowns.clear();
  if (request.memory_limit_bytes > 0) scenario.cluster.memory_bytes = request.memory_limit_bytes;
  return scenario;
}

}  // namespace

PlanInTraining plan_in_training(const PlanRequest& request) {
  PlannerRequest planner = parse_planner(request.planner);
  planner.options.iterations = request.iterations;
  return [planner, scenario = scenario_of(request), limit = request.memory_limit_bytes,
          say = request.say](const TrainingSoFar& so_far) {
    const Situation even = scenario.situation();
    const moe::Routing routing =
        so_far.routing ? moe::exchanged_rows(even.program, *so_far.routing) : even.routing;
    Situation situation{even.program, even.groups,  routing,
                        even.costs,   even.cluster, so_far.measure};
    if (so_far.in_force) situation.homes_now = homes_under(*so_far.in_force);
    PlannerOptions plan_options = planner.options;
    if (!so_far.in_force) plan_options.iterations = 0;  // experts begin at its homes
    moe::Schedule plan = plan_with(*planner.planner, situation, plan_options);
    if (!so_far.in_force || limit == 0) return plan;
    const std::int64_t peak = planned_peak_bytes(moe::apply(situation.program, plan),
                                                 situation.groups, situation.routing);
    if (peak <= limit) return plan;
    say(fmt::format(
        "a plan of {} needs {} of a rank's memory, the limit is {}: the schedule in force goes on",
        planner.planner->name, db::format_cell("bytes", peak), db::format_cell("bytes", limit)));
    return *so_far.in_force;
  };
}

moe::Listing planner_list() {
  moe::Listing list{"planners", {}};
  for (const Planner& planner : planners()) {
    list.entries.push_back({std::string(planner.name), std::string(planner.description)});
  }
  return list;
}

bool chooses_by_measuring(const std::string& planner) {
  return parse_planner(planner).planner->measures;
}

void expect_measuring(const std::string& planner, const std::string& option) {
  if (chooses_by_measuring(planner)) return;
  throw moe::InputError(
      fmt::format("{}: planner {} does not choose by measuring: expected one of {}, or no {}",
                  option, planner, measuring_planners(), option));
}

}  // namespace tuner
