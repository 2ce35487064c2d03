#include "tuner/planners/placement/placed_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "db/console/format_rows.h"
#include "moe/rows/balance.h"
#include "tuner/planners/placement/move_costs.h"
#include "tuner/planners/placement/transfer_loads.h"

namespace tuner {
namespace {

/// "" where nothing moves.
std::string moves_text(const MoveCost& cost) {
  if (cost.experts == 0) return "";
  return fmt::format(" {} experts moved for good: {} across nodes, {} within, {} once;",
                     cost.experts, db::format_cell("bytes", cost.inter_node_bytes),
                     db::format_cell("bytes", cost.intra_node_bytes),
                     db::format_cell("duration_s", cost.seconds));
}

/// The decisions for a layer's placement, as far as it differs from the Program's, by the cheaper
/// route.
std::vector<moe::Decision> decisions_for(const PlacedLayer& layer, moe::ExpertPlacement placement) {
  std::vector<moe::Decision> decisions;
  placement.route = cheapest_route(layer.costs, placement,
                                   placement.homes.empty() ? layer.rows.homes : placement.homes);
  moe::ExpertHomes homes = std::exchange(placement.homes, {});
  if (!homes.empty() && homes != layer.rows.homes) {
    decisions.push_back(moe::PlaceExperts{layer.layer, std::move(homes)});
  }
  if (moe::has_replicas(placement)) {
    decisions.push_back(moe::ReplicateExperts{layer.layer, std::move(placement)});
  }
  return decisions;
}

}  // namespace

moe::Schedule placed_schedule(const Situation& situation, std::string planner,
                              const PlaceLayer& place) {
  moe::Schedule schedule;
  schedule.planner = std::move(planner);
  if (situation.groups.layout.expert < 2) return schedule;  // every rank has all experts
  std::vector<std::vector<moe::Decision>> by_layer;
  const auto join = [&] {
    schedule.decisions.clear();
    for (const auto& decisions : by_layer) {
      schedule.decisions.insert(schedule.decisions.end(), decisions.begin(), decisions.end());
    }
  };
  for (const PlacedLayer& layer : placed_layers(situation)) {
    by_layer.push_back(decisions_for(layer, place(layer)));
  }
  join();
  if (!moe::is_legal(situation.program, schedule)) {
    std::erase_if(by_layer, [&](const std::vector<moe::Decision>& decisions) {
      return !moe::is_legal(situation.program, {{}, decisions});
    });
    join();
  }
  return schedule;
}

moe::ExpertPlacement placement_of(const moe::Schedule& schedule, int layer) {
  moe::ExpertPlacement placement;
  for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(schedule)) {
    if (decision.layer == layer) placement = decision.placement;
  }
  placement.homes = moe::homes_of(homes_under(schedule), layer);
  return placement;
}

moe::ExpertPlacement placement_in(const Situation& situation, const moe::Schedule& schedule,
                                  int layer) {
  moe::ExpertPlacement placement = placement_of(schedule, layer);
  if (placement.homes.empty()) placement.homes = moe::homes_of(situation.program.homes, layer);
  return placement;
}

moe::HomesByLayer homes_under(const moe::Schedule& schedule) {
  moe::HomesByLayer homes;
  for (const auto& decision : moe::decisions_of<moe::PlaceExperts>(schedule)) {
    homes[decision.layer] = decision.homes;
  }
  return homes;
}

double placed_iteration_s(const Situation& situation, const moe::Schedule& schedule,
                          Transfers transfers) {
  double sum_s = seconds_beside_layers(situation);
  for (const PlacedLayer& layer : placed_layers(situation)) {
    sum_s += placed_layer_s(layer.routing, situation.groups,
                            placement_in(situation, schedule, layer.layer), layer.costs, transfers);
  }
  return sum_s;
}

double placed_paper_s(const Situation& situation, const moe::Schedule& schedule) {
  const bool hidden = !moe::decisions_of<moe::HoistTransfer>(schedule).empty();
  return placed_iteration_s(situation, schedule,
                            hidden ? Transfers::overlapped : Transfers::blocking);
}

std::string placement_remark(const Situation& situation, const PlannerOptions&,
                             const moe::Schedule& schedule) {
  std::size_t experts = 0, copies = 0;
  std::set<int> placed;
  for (const auto& [layer, placement] : moe::decisions_of<moe::ReplicateExperts>(schedule)) {
    for (const auto& replica : placement.replicas) copies += replica.holders.size();
    experts += placement.replicas.size();
    placed.insert(layer);
  }
  for (const auto& decision : moe::decisions_of<moe::PlaceExperts>(schedule)) {
    placed.insert(decision.layer);
  }
  if (placed.empty()) return fmt::format("{}: all experts stay at home", schedule.planner);
  double before = 0, after = 0;
  const moe::Routing whole = moe::add_micro_batches(situation.routing);
  for (const int layer : placed) {
    const moe::LayerRouting& routing = moe::layer_of(whole, {layer, 0, 0});
    const auto busiest = [&](const moe::ExpertPlacement& placement) {
      return max_over_mean(placed_loads(routing, situation.groups, placement).computed);
    };
    before += busiest({{}, moe::RowsOfOthers::home, moe::homes_of(situation.program.homes, layer)});
    after += busiest(placement_in(situation, schedule, layer));
  }
  const auto layers = static_cast<double>(placed.size());
  std::string text = schedule.planner + ":";
  if (experts > 0) {
    text += fmt::format(" {} experts of {} layers sent to {} ranks in all;", experts, placed.size(),
                        copies);
  }
  return text + moves_text(move_cost(situation, homes_under(schedule))) +
         fmt::format(" the busiest rank computes {:.2f} times the mean, {:.2f} before",
                     after / layers, before / layers);
}

std::string placed_json(const moe::Schedule& schedule) {
  std::size_t experts = 0;
  for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(schedule)) {
    experts += decision.placement.replicas.size();
  }
  return fmt::format(R"({{"experts_sent": {}}})", experts);
}

}  // namespace tuner
