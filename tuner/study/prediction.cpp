#include "tuner/study/prediction.h"

#include <utility>
#include <vector>

#include "db/records.h"
#include "moe/memory/memory_rows.h"
#include "moe/passes/schedule.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/simulate.h"

namespace tuner {

Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule) {
  Prediction prediction;
  prediction.program = moe::apply(situation.program, schedule);
  std::vector<ProgramCosts> costs = judged_costs(situation, prediction.program);
  std::vector<moe::Timeline> timelines;
  std::vector<double> seconds;
  for (const ProgramCosts& of_iteration : costs) {
    timelines.push_back(
        simulate(prediction.program, of_iteration, situation.costs, situation.cluster));
    seconds.push_back(timelines.back().duration_s);
  }
  const std::size_t median = median_place(seconds);
  prediction.timeline = std::move(timelines[median]);
  prediction.routing = judged_iterations(situation)[median].routing;
  prediction.costs = std::move(costs[median]);
  prediction.bound = lower_bound(prediction.program, prediction.costs, situation.cluster);
  if (const auto& relative = situation.costs.deviation) {
    prediction.deviation_s = *relative * prediction.timeline.duration_s;
  }
  if (planner.paper_seconds) prediction.paper_s = planner.paper_seconds(situation, schedule);
  const PeakBytes peaks = planned_peaks(situation, schedule, &prediction.program);
  prediction.peak_bytes = peaks[static_cast<std::size_t>(moe::Pool::device)];
  prediction.host_peak_bytes = peaks[static_cast<std::size_t>(moe::Pool::host)];
  return prediction;
}

moe::TimelineRows predicted_rows(const Prediction& prediction, const moe::Groups& groups,
                                 const std::string& label) {
  moe::TimelineRows rows =
      moe::timeline_rows(prediction.program, prediction.timeline, prediction.routing, groups);
  rows.memory =
      moe::memory_rows(prediction.program, prediction.timeline, prediction.routing, groups);
  rows.timeline.kind = db::kPredicted;
  rows.timeline.label = label;
  return rows;
}

}  // namespace tuner
