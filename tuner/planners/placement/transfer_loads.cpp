#include "tuner/planners/placement/transfer_loads.h"

#include <algorithm>

#include "moe/rows/expert_moves.h"

namespace tuner {
namespace {

TransferTimes times_of_loads(const TransferLoads& loads, const ProProphetCosts& costs,
                             moe::ExpertRoute route) {
  const RouteCost& cost = route_cost(costs, route);
  return {loads.seconds(cost.trans), loads.seconds(cost.agg)};
}

template <typename Loads>
void send_replicas(const moe::ExpertPlacement& placement, std::span<const int> homes,
                   Loads& loads) {
  for (const moe::ReplicatedExpert& replica : placement.replicas) {
    loads.send(homes[static_cast<std::size_t>(replica.expert)], replica.holders);
  }
}

}  // namespace

TransferLoads::TransferLoads(std::span<const int> node_of, moe::ExpertRoute route,
                             std::span<const int> card_of)
    : node_of_(node_of.begin(), node_of.end()),
      card_of_(card_of.empty() ? node_of_ : std::vector<int>(card_of.begin(), card_of.end())),
      route_(route),
      across_(node_of_.size()),
      within_(node_of_.size()),
      card_(static_cast<std::size_t>(std::ranges::max(card_of_)) + 1) {}

void TransferLoads::move(int from, int to) {
  const auto add = [](Load& out, Load& in, int& most) {
    most = std::max({most, ++out.out, ++in.in});
  };
  if (node_of_[from] == node_of_[to]) {
    add(within_[from], within_[to], most_within_);
    return;
  }
  add(across_[from], across_[to], most_across_);
  add(card_[card_of_[from]], card_[card_of_[to]], most_card_);
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

TransfersByRoute::TransfersByRoute(const ProProphetCosts& costs)
    : unicast_(costs.node_of, moe::ExpertRoute::unicast, costs.card_of),
      ring_(costs.node_of, moe::ExpertRoute::ring, costs.card_of) {}

void TransfersByRoute::send(int home, std::span<const int> holders) {
  unicast_.send(home, holders);
  ring_.send(home, holders);
}

TransfersByRoute::Cheapest TransfersByRoute::cheapest(const ProProphetCosts& costs) const {
  const TransferTimes unicast = times_of_loads(unicast_, costs, moe::ExpertRoute::unicast),
                      ring = times_of_loads(ring_, costs, moe::ExpertRoute::ring);
  const bool on_ring = ring.trans_s + ring.agg_s < unicast.trans_s + unicast.agg_s;
  return {on_ring ? moe::ExpertRoute::ring : moe::ExpertRoute::unicast,
          on_ring ? ring : unicast,
          {std::min(unicast.trans_s, ring.trans_s), std::min(unicast.agg_s, ring.agg_s)}};
}

TransferTimes transfer_times(const ProProphetCosts& costs, const moe::ExpertPlacement& placement,
                             std::span<const int> homes) {
  if (placement.replicas.empty()) return {};
  TransferLoads loads(costs.node_of, placement.route, costs.card_of);
  send_replicas(placement, homes, loads);
  return times_of_loads(loads, costs, placement.route);
}

moe::ExpertRoute cheapest_route(const ProProphetCosts& costs, const moe::ExpertPlacement& placement,
                                std::span<const int> homes) {
  TransfersByRoute transfers(costs);
  send_replicas(placement, homes, transfers);
  return transfers.cheapest(costs).route;
}

}  // namespace tuner
