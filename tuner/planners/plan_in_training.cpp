#include "tuner/commands/scenario.h"
#include "tuner/planners/planners.h"

namespace tuner {

PlanFromRouting plan_in_training(const PlanRequest& request) {
  const PlannerRequest planner = parse_planner(request.planner);
  ScenarioOptions options;
  options.model = request.model;
  options.cluster = request.cluster;
  options.database = request.database;
  options.ranks = request.ranks;
  options.layout = request.layout;
  return [planner, scenario = load_scenario(options)](const moe::Routing* seen,
                                                      const MicroProfile& micro_profile) {
    const Situation even = scenario.situation();
    const Situation situation{even.program, even.groups,  seen ? *seen : even.routing,
                              even.costs,   even.cluster, micro_profile};
    return planner.planner->plan(situation, planner.options);
  };
}

}  // namespace tuner
