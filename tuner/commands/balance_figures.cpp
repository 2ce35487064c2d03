#include "tuner/commands/balance_figures.h"

#include <algorithm>

#include "moe/program/even_routing.h"
#include "moe/rows/balance.h"
#include "tuner/planners/joint/aspects.h"
#include "tuner/planners/placement/placed_loads.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

double max_over_mean(const Situation& situation, const moe::Schedule& schedule,
                     const Prediction& prediction) {
  double most = 1;
  for (const moe::LayerRouting& layer : prediction.routing.layers) {
    moe::ExpertPlacement placement = placement_of(schedule, layer.layer);
    if (placement.homes.empty()) {
      placement.homes = moe::homes_of(situation.program.homes, layer.layer);
    }
    most = std::max(most, max_over_mean(moe::rank_tokens(layer, situation.groups, placement)));
  }
  return most;
}

double force_balanced_share(const Situation& situation, const moe::Schedule& schedule,
                            const Prediction& prediction) {
  const moe::Routing even = moe::even_routing(situation.program, situation.groups);
  Situation balanced{situation.program, situation.groups, even, situation.costs, situation.cluster};
  moe::Schedule at_home = schedule;
  std::erase_if(at_home.decisions, [](const moe::Decision& decision) {
    return aspect_of(decision) == Aspect::placement;
  });
  return simulated_s(balanced, at_home) / prediction.timeline.duration_s;
}

}  // namespace tuner
