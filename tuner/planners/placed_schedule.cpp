#include "tuner/planners/placed_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "moe/train/balance.h"

namespace tuner {

moe::Schedule placed_schedule(const Situation& situation, std::string planner,
                              const PlaceLayer& place) {
  moe::Schedule schedule;
  schedule.planner = std::move(planner);
  if (situation.groups.layout.expert < 2) return schedule;  // everybody has all experts
  for (const PlacedLayer& layer : placed_layers(situation)) {
    moe::ReplicateExperts decision{layer.layer, place(layer)};
    if (!decision.placement.replicas.empty()) schedule.decisions.push_back(std::move(decision));
  }
  if (!moe::is_legal(situation.program, schedule)) {
    std::erase_if(schedule.decisions, [&](const moe::Decision& decision) {
      return !moe::is_legal(situation.program, {{}, {decision}});
    });
  }
  return schedule;
}

moe::ExpertPlacement placement_of(const moe::Schedule& schedule, int layer) {
  for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(schedule)) {
    if (decision.layer == layer) return decision.placement;
  }
  return {};
}

double placed_iteration_s(const Situation& situation, const moe::Schedule& schedule,
                          Transfers transfers) {
  double sum_s = seconds_beside_layers(situation);
  for (const PlacedLayer& layer : placed_layers(situation)) {
    sum_s += placed_layer_s(layer.routing, situation.groups, placement_of(schedule, layer.layer),
                            layer.costs, transfers);
  }
  return sum_s;
}

double blocking_iteration_s(const Situation& situation, const moe::Schedule& schedule) {
  return placed_iteration_s(situation, schedule, Transfers::blocking);
}

std::string placement_remark(const Situation& situation, const PlannerOptions&,
                             const moe::Schedule& schedule) {
  std::size_t experts = 0, copies = 0;
  double before = 0, after = 0;
  const moe::Routing whole = moe::add_micro_batches(situation.routing);
  const auto decisions = moe::decisions_of<moe::ReplicateExperts>(schedule);
  for (const auto& [layer, placement] : decisions) {
    for (const auto& replica : placement.replicas) copies += replica.holders.size();
    experts += placement.replicas.size();
    const moe::LayerRouting& routing = moe::layer_of(whole, {layer, 0, 0});
    before += max_over_mean(placed_loads(routing, situation.groups, {}).computed);
    after += max_over_mean(placed_loads(routing, situation.groups, placement).computed);
  }
  if (decisions.empty()) return fmt::format("{}: all experts stay at home", schedule.planner);
  const auto layers = static_cast<double>(decisions.size());
  return fmt::format(
      "{}: {} experts of {} layers sent to {} ranks in all; the busiest rank computes {:.2f} "
      "times the mean, {:.2f} before",
      schedule.planner, experts, decisions.size(), copies, after / layers, before / layers);
}

Candidate placed_candidate(moe::Schedule schedule) {
  std::size_t experts = 0;
  for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(schedule)) {
    experts += decision.placement.replicas.size();
  }
  return {schedule.planner, fmt::format(R"({{"experts_sent": {}}})", experts), std::move(schedule)};
}

}  // namespace tuner
