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

const std::vector<int>& cards_of(const DevicePlaces& places) {
  return places.card_of.empty() ? places.node_of : places.card_of;
}

template <typename Loads>
void send_replicas(const moe::ExpertPlacement& placement, std::span<const int> homes,
                   Loads& loads) {
  for (const moe::ReplicatedExpert& replica : placement.replicas) {
    loads.send(homes[static_cast<std::size_t>(replica.expert)], replica.holders);
  }
}

}  // namespace

TransferLoads::TransferLoads(const DevicePlaces& places, moe::ExpertRoute route)
    : places_(&places),
      route_(route),
      across_(places.node_of.size()),
      within_(places.node_of.size()),
      card_(static_cast<std::size_t>(std::ranges::max(cards_of(places))) + 1),
      most_of_block_(places.block_of.size()) {
  for (const std::vector<int>& block_of : places.block_of) {
    blocks_.emplace_back(static_cast<std::size_t>(std::ranges::max(block_of)) + 1);
  }
}

void TransferLoads::move(int from, int to) {
  const auto add = [](Load& out, Load& in, int& most) {
    most = std::max({most, ++out.out, ++in.in});
  };
  if (places_->node_of[from] == places_->node_of[to]) {
    add(within_[from], within_[to], most_within_);
    return;
  }
  const int sender = places_->sender.empty() ? from : places_->sender[from][to];
  if (sender != from) add(within_[from], within_[sender], most_within_);
  add(across_[sender], across_[to], most_across_);
  const std::vector<int>& card_of = cards_of(*places_);
  add(card_[card_of[sender]], card_[card_of[to]], most_card_);
  for (std::size_t level = 0; level < blocks_.size(); ++level) {
    const std::vector<int>& block_of = places_->block_of[level];
    if (block_of[sender] == block_of[to]) continue;
    add(blocks_[level][block_of[sender]], blocks_[level][block_of[to]], most_of_block_[level]);
  }
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
    ++(places_->node_of[before] == places_->node_of[holder] ? hops.within : hops.across);
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
  double startup_s = (most_across_ > 0 ? cost.across : cost.within).startup_s;
  double busiest_s = std::max({most_across_ * cost.across.expert_s,
                               most_within_ * cost.within.expert_s, most_card_ * cost.card_s});
  for (std::size_t level = 0; level < most_of_block_.size(); ++level) {
    if (most_of_block_[level] == 0) continue;
    startup_s += cost.levels[level].startup_s;
    busiest_s = std::max(busiest_s, most_of_block_[level] * cost.levels[level].expert_s);
  }
  return startup_s + fill_s + busiest_s;
}

TransfersByRoute::TransfersByRoute(const ProProphetCosts& costs)
    : unicast_(costs.places, moe::ExpertRoute::unicast),
      ring_(costs.places, moe::ExpertRoute::ring) {}

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
  TransferLoads loads(costs.places, placement.route);
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
