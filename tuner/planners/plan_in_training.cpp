#include "tuner/commands/scenario.h"
#include "tuner/planners/placed_schedule.h"
#include "tuner/planners/planners.h"

namespace tuner {

PlanInTraining plan_in_training(const PlanRequest& request) {
  PlannerRequest planner = parse_planner(request.planner);
  planner.options.iterations = request.iterations;
  ScenarioOptions options;
  options.model = request.model;
  options.cluster = request.cluster;
  options.database = request.database;
  options.ranks = request.ranks;
  options.layout = request.layout;
  return [planner, scenario = load_scenario(options)](const TrainingSoFar& so_far) {
    const Situation even = scenario.situation();
    Situation situation{even.program, even.groups,  so_far.routing ? *so_far.routing : even.routing,
                        even.costs,   even.cluster, so_far.micro_profile};
    if (so_far.ruling) situation.homes_now = homes_under(*so_far.ruling);
    PlannerOptions plan_options = planner.options;
    if (!so_far.ruling) plan_options.iterations = 0;  // experts are made where they are wanted
    return planner.planner->plan(situation, plan_options);
  };
}

}  // namespace tuner
