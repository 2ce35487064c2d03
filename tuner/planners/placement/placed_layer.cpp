#include "tuner/planners/placement/placed_layer.h"

#include <algorithm>
#include <stdexcept>

#include "moe/rows/expert_slots.h"
#include "tuner/planners/placement/transfer_loads.h"

namespace tuner {

double layer_s(const ProProphetCosts& costs, const ProProphetTimes& times, Transfers transfers) {
  switch (transfers) {
    case Transfers::blocking:
      return blocking_layer_s(times);
    case Transfers::overlapped:
      return overlapped_layer_s(times, costs.fnec_s, costs.bnec_s);
    case Transfers::scheduled:
      return scheduled_layer_s(times, costs.beside);
  }
  throw std::logic_error("layer_s: no such Transfers");
}

double placed_layer_s(const moe::LayerRouting& routing, const moe::Groups& groups,
                      const moe::ExpertPlacement& placement, const ProProphetCosts& costs,
                      Transfers transfers) {
  const PlacedLoads loads = placed_loads(routing, groups, placement);
  const moe::ExpertHomes homes = placement.homes.empty()
                                     ? moe::homes_in_order(routing.experts, groups.layout.expert)
                                     : placement.homes;
  const auto [trans_s, agg_s] = transfer_times(costs, placement, homes);
  return layer_s(
      costs,
      {all_to_all_s(costs, *std::max_element(loads.received.begin(), loads.received.end())),
       forward_experts_s(costs, *std::max_element(loads.computed.begin(), loads.computed.end())),
       trans_s, agg_s},
      transfers);
}

}  // namespace tuner
