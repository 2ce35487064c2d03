#include "tuner/commands/scenario.h"
#include "tuner/planners/placed_schedule.h"
#include "tuner/planners/planners.h"

namespace tuner {

PlanFromRouting plan_in_training(const PlanRequest& request) {
  PlannerRequest planner = parse_planner(request.planner);
  planner.options.iterations = request.iterations;
  ScenarioOptions options;
  options.model = request.model;
  options.cluster = request.cluster;
  options.database = request.database;
  options.ranks = request.ranks;
  options.layout = request.layout;
  return [planner, scenario = load_scenario(options)](const moe::Routing* seen,
                                                      const moe::Schedule* ruling) {
    const Situation even = scenario.situation();
    Situation situation{even.program, even.groups, seen ? *seen : even.routing, even.costs,
                        even.cluster};
    if (ruling) situation.homes_now = homes_under(*ruling);
    return planner.planner->plan(situation, planner.options);
  };
}

}  // namespace tuner
