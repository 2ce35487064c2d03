#include "tuner/study/prediction.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/critical_path.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/deviation.h"

namespace tuner {
namespace {

std::optional<double> deviation_s(const Prediction& prediction, const Situation& situation,
                                  const std::vector<moe::Binding>& bindings,
                                  const std::vector<OpCost>& costs) {
  const std::vector<double> of_fits =
      deviations_on_path(critical_path(prediction.program, costs, prediction.timeline),
                         prediction.program, bindings, situation.groups, costs, situation.costs);
  if (of_fits.empty() && !situation.costs.profile_deviation) return std::nullopt;
  return deviation_of_prediction(prediction.timeline.duration_s, of_fits,
                                 situation.costs.profile_deviation);
}

}  // namespace

Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule) {
  Prediction prediction;
  prediction.program = moe::apply(situation.program, schedule);
  if (planner.paper_seconds) prediction.paper_s = planner.paper_seconds(situation, schedule);
  const std::span<const moe::Routing> routings = routings_of(situation);
  std::vector<moe::Timeline> timelines;
  std::vector<double> seconds;
  for (const moe::Routing& routing : routings) {
    timelines.push_back(simulate(prediction.program, situation.groups, routing, situation.costs,
                                 situation.cluster));
    seconds.push_back(timelines.back().duration_s);
  }
  prediction.peak_bytes = planned_peak_bytes(situation, prediction.program);
  prediction.host_peak_bytes = planned_peak_bytes(situation, prediction.program, moe::Pool::host);
  const std::size_t median = median_place(seconds);
  prediction.timeline = std::move(timelines[median]);
  prediction.routing = routings[median];
  const auto bindings = bind_all(prediction.program, situation.groups, prediction.routing);
  const auto costs =
      op_costs(prediction.program, situation.groups, bindings, situation.costs, situation.cluster);
  prediction.bound = lower_bound(prediction.program, situation.groups, costs, situation.cluster);
  prediction.deviation_s = deviation_s(prediction, situation, bindings, costs);
  return prediction;
}

}  // namespace tuner
