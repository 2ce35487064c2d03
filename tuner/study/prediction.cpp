#include "tuner/study/prediction.h"

#include <algorithm>
#include <stdexcept>
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
  return predict(situation, planner, schedule, std::span(&situation.routing, 1));
}

Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule, std::span<const moe::Routing> routings) {
  if (routings.empty()) throw std::invalid_argument("predict: no routing");
  Prediction prediction;
  prediction.program = moe::apply(situation.program, schedule);
  if (planner.paper_seconds) prediction.paper_s = planner.paper_seconds(situation, schedule);
  std::vector<std::pair<moe::Timeline, const moe::Routing*>> timelines;
  for (const moe::Routing& routing : routings) {
    timelines.emplace_back(
        simulate(prediction.program, situation.groups, routing, situation.costs, situation.cluster),
        &routing);
    const auto raise = [&](std::int64_t& peak_bytes, moe::Pool pool) {
      peak_bytes = std::max(
          peak_bytes, planned_peak_bytes(prediction.program, situation.groups, routing, pool));
    };
    raise(prediction.peak_bytes, moe::Pool::device);
    raise(prediction.host_peak_bytes, moe::Pool::host);
  }
  const auto middle = timelines.begin() + static_cast<std::ptrdiff_t>((timelines.size() - 1) / 2);
  std::nth_element(timelines.begin(), middle, timelines.end(), [](const auto& a, const auto& b) {
    return a.first.duration_s < b.first.duration_s;
  });
  prediction.timeline = std::move(middle->first);
  prediction.routing = *middle->second;
  const auto bindings = bind_all(prediction.program, situation.groups, prediction.routing);
  const auto costs =
      op_costs(prediction.program, situation.groups, bindings, situation.costs, situation.cluster);
  prediction.bound = lower_bound(prediction.program, situation.groups, costs, situation.cluster);
  prediction.deviation_s = deviation_s(prediction, situation, bindings, costs);
  return prediction;
}

}  // namespace tuner
