#include "tuner/planners/fastermoe/fastermoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "tuner/planners/fastermoe/fastermoe_equations.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/placement/transfer_loads.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

constexpr int kUsualRanksPerGroup = 4;  // FasterMoE's default

/// A shadow on all members, by the cheaper route.
ShadowCost shadow_cost(const PlacedLayer& layer) {
  const std::vector<int>& homes = layer.rows.homes;
  moe::ExpertPlacement one = on_all_members(std::vector{0}, homes, layer.rows.members);
  one.route = cheapest_route(layer.costs, one, homes);
  const auto seconds_by = [&](const ProProphetCosts& costs) {
    const TransferTimes times = transfer_times(costs, one, homes);
    return times.trans_s + times.agg_s;
  };
  ProProphetCosts each = layer.costs;
  for (RouteCost& route : each.routes) {
    for (TransferCost* cost : {&route.trans, &route.agg}) {
      for (TransferCost::OnLink* link : {&cost->across, &cost->within}) {
        link->startup_s = link->pass_s = 0;
      }
    }
  }
  const double each_s = seconds_by(each);
  return {each_s, seconds_by(layer.costs) - each_s};
}

/// The experts that the rule shadows, where they save time by Eq. 6 too (ours). Eq. 6 knows that
/// ranks have several experts and share network cards.
moe::Schedule shadows(const Situation& situation) {
  return placed_schedule(situation, "fastermoe", [&](const PlacedLayer& layer) {
    const auto shadowed = shadowed_experts(rows_by_expert(layer.rows), layer.costs.exchange,
                                           layer.costs.experts, shadow_cost(layer));
    moe::ExpertPlacement shadows = on_all_members(shadowed, layer.rows.homes, layer.rows.members);
    shadows.route = cheapest_route(layer.costs, shadows, layer.rows.homes);
    moe::ExpertPlacement at_home;
    shadows.homes = at_home.homes = layer.rows.homes;
    const auto layer_s = [&](const moe::ExpertPlacement& placement) {
      return placed_layer_s(layer.routing, situation.groups, placement, layer.costs,
                            Transfers::blocking);
    };
    return layer_s(shadows) < layer_s(at_home) ? shadows : at_home;
  });
}

/// The ranks of a group: the number asked for, or the largest below it with at least two groups.
int ranks_per_group(const Situation& situation, const PlannerOptions& options) {
  const int members = situation.groups.layout.expert;
  int size = whole_value_of(options, kRanksPerGroup, kUsualRanksPerGroup);
  while (size > 1 && (members % size != 0 || members == size)) --size;
  return size;
}

/// Experts compute the rows that a group sends as soon as they arrive, and send them back.
moe::Schedule by_groups(const Situation& situation, int size, moe::Schedule schedule) {
  const int groups = situation.groups.layout.expert / size;
  for (moe::Decision& decision :
       pipeline_schedule(situation.program, {}, {groups, groups}).decisions) {
    if (auto* split = std::get_if<moe::PipelineSplit>(&decision)) split->ranks_per_group = size;
    schedule.decisions.push_back(std::move(decision));
  }
  return schedule;
}

}  // namespace

std::vector<Candidate> fastermoe_candidates(const Situation& situation,
                                            const PlannerOptions& options) {
  const moe::Schedule alone = shadows(situation);
  std::vector<Candidate> candidates{{alone.planner, R"({"exchange": "whole"})", alone}};
  if (situation.groups.layout.expert < 2) return candidates;
  const int size = ranks_per_group(situation, options);
  candidates.push_back({alone.planner,
                        fmt::format(R"({{"exchange": "by groups", "ranks_per_group": {}}})", size),
                        by_groups(situation, size, alone)});
  return candidates;
}

moe::Schedule plan_fastermoe(const Situation& situation, const PlannerOptions& options) {
  return fastest_simulated(situation, fastermoe_candidates(situation, options)).schedule;
}

}  // namespace tuner
