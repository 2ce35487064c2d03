#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "db/console/format_rows.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/scenario/given.h"
#include "tuner/simulate/timeline_text.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

struct Plan {
  const Planner* planner = nullptr;
  moe::Schedule schedule;
  db::Cell given, changes_results;  ///< names
};

/// What every planner makes of the model, and then of what is given.
std::vector<Plan> plans_of(const Situation& whole, const std::vector<PlannerRequest>& requests,
                           const std::vector<std::string>& given_files) {
  std::vector<Plan> plans;
  for (const PlannerRequest& request : requests) {
    plans.push_back({request.planner, request.planner->plan(whole, request.options), {}, {}});
  }
  for (const std::string& file : given_files) {
    const Given given = load_given(file, whole.program);
    for (const PlannerRequest& request : requests) {
      plans.push_back({request.planner,
                       plan_from(given, *request.planner, request.options, whole),
                       given.name,
                       {}});
    }
  }
  for (Plan& plan : plans) plan.changes_results = changes_cell(plan.schedule);
  return plans;
}

}  // namespace

int compare(const Arguments& arguments) {
  auto requests = parse_planners(arguments.planners);
  for (PlannerRequest& request : requests) request.options.most_chunks = arguments.most_chunks;
  const Scenario scenario = load_scenario(arguments.scenario);
  const Situation situation = scenario.situation();
  const std::vector<Plan> plans = plans_of(situation, requests, arguments.given);
  for (const PlannerRequest& request : requests) {
    if (!request.planner->profiles) continue;
    warn(fmt::format("{}: chosen by simulation, as nothing is run; a study chooses by running",
                     request.planner->name));
  }
  const Planner& baseline = planner_named("sequential");
  const double sequential_s =
      predict(situation, baseline, baseline.plan(situation, {})).timeline.duration_s;

  std::vector<std::string> columns{
      "planner",     "forward_chunks",        "backward_chunks", "paper_s",
      "predicted_s", "predicted_deviation_s", "lower_bound_s",   "predicted_speedup",
      "exposed_s",   "predicted_peak_bytes",  "fits_memory"};
  const bool shows_given = shows_column(arguments, !arguments.given.empty());
  const bool shows_changes = shows_column(
      arguments, std::ranges::any_of(
                     plans, [](const Plan& plan) { return plan.changes_results != db::Cell(); }));
  if (shows_given) columns.emplace_back("given");
  if (shows_changes) columns.emplace_back("changes_results");
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const Plan& plan : plans) {
    const Prediction prediction = predict(situation, *plan.planner, plan.schedule);
    const Degrees degrees = degrees_of(plan.schedule);
    std::vector<db::Cell> row{std::string(plan.planner->name),
                              std::int64_t{degrees.forward},
                              std::int64_t{degrees.backward},
                              prediction.paper_s,
                              prediction.timeline.duration_s,
                              optional_cell(prediction.deviation_s),
                              prediction.bound.seconds(),
                              sequential_s / prediction.timeline.duration_s,
                              summarize(prediction.program, prediction.timeline).exposed_s,
                              prediction.peak_bytes,
                              fits_memory(prediction.peak_bytes, scenario.cluster)};
    if (shows_given) row.push_back(plan.given);
    if (shows_changes) row.push_back(plan.changes_results);
    writer.row(row);
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
