#include "tuner/planners/placement/placed_layer.h"

#include <algorithm>

namespace tuner {

double layer_s(const ProProphetCosts& costs, const ProProphetTimes& times, Transfers transfers) {
  return transfers == Transfers::blocking ? blocking_layer_s(times)
                                          : overlapped_layer_s(times, costs.fnec_s, costs.bnec_s);
}

std::vector<int> devices_sent_to(const moe::ExpertPlacement& placement) {
  std::vector<int> devices;
  for (const moe::ReplicatedExpert& replica : placement.replicas) {
    devices.push_back(static_cast<int>(replica.holders.size()));
  }
  return devices;
}

double placed_layer_s(const moe::LayerRouting& routing, const moe::Groups& groups,
                      const moe::ExpertPlacement& placement, const ProProphetCosts& costs,
                      Transfers transfers) {
  const PlacedLoads loads = placed_loads(routing, groups, placement);
  const std::vector<int> devices = devices_sent_to(placement);
  return layer_s(
      costs,
      {all_to_all_s(costs, *std::max_element(loads.received.begin(), loads.received.end())),
       forward_experts_s(costs, *std::max_element(loads.computed.begin(), loads.computed.end())),
       transfers_s(costs.trans_s, devices), transfers_s(costs.agg_s, devices)},
      transfers);
}

}  // namespace tuner
