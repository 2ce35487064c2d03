#include "db/format_rows.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/pipeline_schedule.h"
#include "tuner/simulate/timeline_text.h"
#include "tuner/study/prediction.h"

namespace tuner {

int compare(const Arguments& arguments) {
  auto requests = parse_planners(arguments.planners);
  const Scenario scenario = load_scenario(arguments.scenario);
  const Situation situation = scenario.situation();
  const Planner& baseline = planner_named("sequential");
  const double sequential_s =
      predict(situation, baseline, baseline.plan(situation, {})).timeline.duration_s;

  db::RowWriter writer(
      stdout, style_of(arguments),
      {"planner", "forward_chunks", "backward_chunks", "paper_s", "predicted_s", "lower_bound_s",
       "predicted_speedup", "exposed_s", "predicted_peak_bytes", "fits_memory"});
  for (PlannerRequest& request : requests) {
    request.options.most_chunks = arguments.most_chunks;
    const moe::Schedule schedule = request.planner->plan(situation, request.options);
    const Prediction prediction = predict(situation, *request.planner, schedule);
    const Degrees degrees = degrees_of(schedule);
    writer.row({std::string(request.planner->name), std::int64_t{degrees.forward},
                std::int64_t{degrees.backward}, prediction.paper_s, prediction.timeline.duration_s,
                prediction.bound.seconds(), sequential_s / prediction.timeline.duration_s,
                summarize(prediction.program, prediction.timeline).exposed_s, prediction.peak_bytes,
                fits_memory(prediction.peak_bytes, scenario.cluster)});
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
