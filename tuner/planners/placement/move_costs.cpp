#include "tuner/planners/placement/move_costs.h"

#include <algorithm>
#include <vector>

#include "moe/program/expert_state.h"
#include "moe/rows/expert_moves.h"
#include "tuner/costs/call_loads.h"
#include "tuner/planners/placement/placed_layer.h"
#include "tuner/planners/placement/transfer_loads.h"

namespace tuner {
namespace {

/// Every expert group of the ranks that take part in a layer's exchange.
std::vector<std::vector<int>> expert_groups(const moe::Groups& groups, const OpCost& exchange) {
  std::vector<std::vector<int>> found;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    if (exchange.call_of[rank] < 0) continue;  // this rank is in another stage
    if (moe::index_in_group(groups, moe::GroupKind::expert, rank) != 0) continue;
    found.push_back(moe::members(groups, moe::GroupKind::expert, rank));
  }
  return found;
}

}  // namespace

moe::ExpertHomes current_homes(const Situation& situation, const PlacedLayer& layer) {
  const auto found = situation.homes_now.find(layer.layer);
  return found == situation.homes_now.end() ? layer.rows.homes : found->second;
}

MoveCost move_cost(const Situation& situation, const PlacedLayer& layer,
                   const moe::ExpertHomes& from, const moe::ExpertHomes& to) {
  const moe::Groups& groups = situation.groups;
  auto moves = moe::moves_between_homes(from, to, layer.rows.experts, layer.rows.members);
  std::erase_if(moves, [](const moe::ExpertMove& move) { return move.from == move.to; });
  MoveCost cost;
  cost.experts = static_cast<int>(moves.size());
  if (moves.empty()) return cost;
  const moe::ExpertState state = moe::expert_state(situation.program, layer.layer);
  OpCost moving = layer.all_to_all;
  double alpha_s = 0;
  for (const GroupCall& call : moving.calls) alpha_s = std::max(alpha_s, call.alpha_s);
  moving.calls.clear();
  for (const std::vector<int>& ranks : expert_groups(groups, layer.all_to_all)) {
    GroupCall& call = moving.calls.emplace_back();
    call.ranks = ranks;
    call.alpha_s = state.tensors * alpha_s;
    for (const moe::ExpertMove& move : moves) {
      const int sender = ranks[move.from];
      const int receiver = ranks[move.to];
      const Transfer& transfer = call.transfers.emplace_back(
          transfer_between(groups, ranks, sender, receiver, state.bytes));
      (transfer.between_nodes ? cost.inter_node_bytes : cost.intra_node_bytes) += state.bytes;
    }
  }
  cost.seconds = alone_seconds(moving, groups, situation.cluster);
  return cost;
}

MoveCost move_cost(const Situation& situation, const moe::HomesByLayer& to) {
  MoveCost sum;
  if (to == situation.homes_now) return sum;
  for (const PlacedLayer& layer : placed_layers(situation)) {
    const auto found = to.find(layer.layer);
    const MoveCost one = move_cost(situation, layer, current_homes(situation, layer),
                                   found == to.end() ? layer.rows.homes : found->second);
    sum.experts += one.experts;
    sum.inter_node_bytes += one.inter_node_bytes;
    sum.intra_node_bytes += one.intra_node_bytes;
    sum.seconds += one.seconds;
  }
  return sum;
}

bool pays_off(const Situation& situation, const PlannerOptions& options, const PlacedLayer& layer,
              const moe::ExpertPlacement& now, const moe::ExpertPlacement& then) {
  if (options.iterations == 0) return true;
  const auto layer_s = [&](moe::ExpertPlacement placement) {
    placement.route = cheapest_route(layer.costs, placement,
                                     placement.homes.empty() ? layer.rows.homes : placement.homes);
    return placed_layer_s(layer.routing, situation.groups, placement, layer.costs,
                          Transfers::blocking);
  };
  return (layer_s(now) - layer_s(then)) * options.iterations >
         move_cost(situation, layer, now.homes, then.homes).seconds;
}

}  // namespace tuner
