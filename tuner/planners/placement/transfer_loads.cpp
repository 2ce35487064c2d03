#include "tuner/planners/placement/transfer_loads.h"

#include <algorithm>

#include "moe/rows/expert_moves.h"

namespace tuner {

TransferLoads::TransferLoads(std::span<const int> node_of, moe::ExpertRoute route)
    : node_of_(node_of.begin(), node_of.end()),
      route_(route),
      across_(node_of_.size()),
      within_(node_of_.size()),
      card_(static_cast<std::size_t>(std::ranges::max(node_of_)) + 1) {}

void TransferLoads::move(int from, int to) {
  const auto add = [](Load& out, Load& in, int& most) {
    most = std::max({most, ++out.out, ++in.in});
  };
  if (node_of_[from] == node_of_[to]) {
    add(within_[from], within_[to], most_within_);
    return;
  }
  add(across_[from], across_[to], most_across_);
  add(card_[node_of_[from]], card_[node_of_[to]], most_card_);
}

void TransferLoads::send(int home, std::span<const int> holders) {
  if (holders.empty()) return;
  sends_ = true;
  if (route_ == moe::ExpertRoute::unicast) {
    for (const int holder : holders) move(home, holder);
    return;
  }
  RingHops hops;
  int before = home;
  for (const int holder : moe::ring_order(home, {holders.begin(), holders.end()})) {
    move(before, holder);
    ++(node_of_[before] == node_of_[holder] ? hops.within : hops.across);
    before = holder;
  }
  if (std::ranges::find(rings_, hops) == rings_.end()) rings_.push_back(hops);
}

double TransferLoads::seconds(const TransferCost& cost) const {
  if (!sends_) return 0;
  double fill_s = 0;
  for (const RingHops& hops : rings_) {
    fill_s = std::max(fill_s, ring_fill_s(hops, cost.across.pass_s, cost.within.pass_s));
  }
  return (most_across_ > 0 ? cost.across : cost.within).startup_s + fill_s +
         std::max({most_across_ * cost.across.expert_s, most_within_ * cost.within.expert_s,
                   most_card_ * cost.card_s});
}

TransferTimes transfer_times(const ProProphetCosts& costs, const moe::ExpertPlacement& placement,
                             std::span<const int> homes) {
  if (placement.replicas.empty()) return {};
  TransferLoads loads(costs.node_of, placement.route);
  for (const moe::ReplicatedExpert& replica : placement.replicas) {
    loads.send(homes[static_cast<std::size_t>(replica.expert)], replica.holders);
  }
  const RouteCost& cost = route_cost(costs, placement.route);
  return {loads.seconds(cost.trans), loads.seconds(cost.agg)};
}

moe::ExpertRoute cheapest_route(const ProProphetCosts& costs, moe::ExpertPlacement placement,
                                std::span<const int> homes) {
  const auto seconds_by = [&](moe::ExpertRoute route) {
    placement.route = route;
    const TransferTimes times = transfer_times(costs, placement, homes);
    return times.trans_s + times.agg_s;
  };
  const double ring_s = seconds_by(moe::ExpertRoute::ring);
  return ring_s < seconds_by(moe::ExpertRoute::unicast) ? moe::ExpertRoute::ring
                                                        : moe::ExpertRoute::unicast;
}

}  // namespace tuner
