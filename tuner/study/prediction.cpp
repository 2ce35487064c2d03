#include "tuner/study/prediction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "moe/program/timeline_rows.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/deviation.h"

namespace tuner {
namespace {

std::optional<double> deviation_s(const Prediction& prediction, const Situation& situation) {
  const ProgramCosts& costs = prediction.costs;
  std::vector<double> of_fits;
  const bool known = std::ranges::any_of(situation.costs.fits, [](const auto& fit) {
    return fit.second.relative_deviation.has_value();
  });
  if (known) {
    const db::Timeline timeline =
        moe::asked_timeline(prediction.program, prediction.timeline, situation.groups);
    of_fits = deviations_on_path(timeline, prediction.program, prediction.routing, situation.groups,
                                 costs, situation.costs);
  }
  const auto &of_profile = situation.costs.profile_deviation,
             &of_drift = situation.costs.drift_deviation;
  if (of_fits.empty() && !of_profile && !of_drift) return std::nullopt;
  return deviation_of_prediction(prediction.timeline.duration_s, of_fits, of_profile, of_drift);
}

}  // namespace

Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule) {
  Prediction prediction;
  prediction.program = moe::apply(situation.program, schedule);
  if (planner.paper_seconds) prediction.paper_s = planner.paper_seconds(situation, schedule);
  std::vector<ProgramCosts> costs = judged_costs(situation, prediction.program);
  std::vector<moe::Timeline> timelines;
  std::vector<double> seconds;
  for (const ProgramCosts& of_iteration : costs) {
    timelines.push_back(
        simulate(prediction.program, of_iteration, situation.costs, situation.cluster));
    seconds.push_back(timelines.back().duration_s);
  }
  const PeakBytes peaks = planned_peaks(situation, prediction.program);
  prediction.peak_bytes = peaks[static_cast<std::size_t>(moe::Pool::device)];
  prediction.host_peak_bytes = peaks[static_cast<std::size_t>(moe::Pool::host)];
  const std::size_t median = median_place(seconds);
  prediction.timeline = std::move(timelines[median]);
  prediction.routing = judged_iterations(situation)[median].routing;
  prediction.costs = std::move(costs[median]);
  prediction.bound = lower_bound(prediction.program, prediction.costs, situation.cluster);
  prediction.deviation_s = deviation_s(prediction, situation);
  return prediction;
}

}  // namespace tuner
