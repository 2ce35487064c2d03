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
    const moe::ExpertPlacement placement = placement_in(situation, schedule, layer.layer);
    most = std::max(most, max_over_mean(moe::rank_tokens(layer, situation.groups, placement)));
  }
  return most;
}

EvenLoads::EvenLoads(const Situation& situation)
    : even_(moe::even_routing(situation.program, situation.groups)),
      situation_{situation.program, situation.groups, even_, situation.costs, situation.cluster} {
  situation_.memory = &memory_;
}

double EvenLoads::force_balanced_share(const moe::Schedule& schedule,
                                       const Prediction& prediction) const {
  moe::Schedule at_home = schedule;
  std::erase_if(at_home.decisions, [](const moe::Decision& decision) {
    return aspect_of(decision) == Aspect::placement;
  });
  return simulated_s(situation_, at_home) / prediction.timeline.duration_s;
}

}  // namespace tuner
