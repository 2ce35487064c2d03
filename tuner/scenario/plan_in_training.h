#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "moe/model/listing.h"
#include "moe/model/model.h"
#include "tuner/planners/situation/planner.h"
#include "tuner/scenario/scenario.h"

namespace tuner {

/// The settings with which moe-train plans; texts are as on moe-tune's command line.
struct PlanRequest {
  std::string planner;  ///< "pipemoe", "tutel:4"
  ScenarioOptions scenario;
  int iterations = 0;  ///< PlannerOptions::iterations
  /// The limit of a rank's arena; 0 = the cluster's memory. Planners that keep to a limit get it. A
  /// plan of another planner that needs more under the present routing is dropped, and the schedule
  /// in force stays.
  std::int64_t memory_limit_bytes = 0;
  /// Called with a line about costs measured elsewhere, and about every dropped plan.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// The facts for a plan inside training. The first plan has none and assumes even routing.
struct TrainingSoFar {
  const moe::Routing* routing = nullptr;    ///< the routing of the last iteration
  const moe::Schedule* in_force = nullptr;  ///< the schedule of the last iteration
  MeasureSchedule measure{};                ///< Situation::measure
};
using PlanInTraining = std::function<moe::Schedule(const TrainingSoFar&)>;

/// What plans are made for: model and cluster are read, the model with these settings. Throws as
/// load_scenario (scenario.h).
Scenario plan_scenario(const PlanRequest& request, const std::vector<std::string>& settings);
/// The same from a model and costs_json() of what another process has read. Reads no file.
Scenario plan_scenario(const PlanRequest& request, const moe::Model& model,
                       const std::string& costs);
std::string costs_json(const Scenario& scenario);

/// Throws as parse_planner.
PlanInTraining plan_in_training(const PlanRequest& request, Scenario scenario);

/// All planners with their descriptions, for `moe-train --list`.
moe::Listing planner_list();

/// True where the planner of this name chooses by short trainings if it can.
bool chooses_by_measuring(const std::string& planner);
/// Throws moe::InputError with the planners that do so where this one does not; `option` needs it.
void expect_measuring(const std::string& planner, const std::string& option);

}  // namespace tuner
