#include "tuner/scenario/plan_in_training.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_costs.h"

namespace tuner {
namespace {

/// All ranks wait for the plan, so schedules are judged by one iteration.
Scenario of_one_iteration(Scenario scenario, const PlanRequest& request) {
  scenario.costs.slowdowns.clear();
  if (request.memory_limit_bytes > 0) scenario.cluster.memory_bytes = request.memory_limit_bytes;
  return scenario;
}

}  // namespace

Scenario plan_scenario(const PlanRequest& request, const std::vector<std::string>& settings) {
  ScenarioOptions options = request.scenario;
  options.settings = settings;
  Scenario scenario = load_scenario(options);
  for (const std::string& remark : scenario.remarks) request.say(remark);
  return of_one_iteration(std::move(scenario), request);
}

Scenario plan_scenario(const PlanRequest& request, const moe::Model& model,
                       const std::string& costs) {
  const auto json = nlohmann::json::parse(costs, nullptr, false);
  if (!json.is_object()) throw moe::InputError("costs handed to ranks: expected a JSON object");
  MeasuredCosts handed;
  handed.costed = {cluster_from_json(json.at("cluster").dump()),
                   cost_model_from_json(json.at("costs").dump())};
  return of_one_iteration(scenario_of(request.scenario, model, std::move(handed)), request);
}

std::string costs_json(const Scenario& scenario) {
  return nlohmann::json{{"cluster", nlohmann::json::parse(to_json(scenario.cluster))},
                        {"costs", nlohmann::json::parse(to_json(scenario.costs))}}
      .dump();
}

PlanInTraining plan_in_training(const PlanRequest& request, Scenario made_for) {
  PlannerRequest planner = parse_planner(request.planner);
  planner.options.iterations = request.iterations;
  return [planner, scenario = std::move(made_for), limit = request.memory_limit_bytes,
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
