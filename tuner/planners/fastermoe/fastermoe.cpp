#include "tuner/planners/fastermoe/fastermoe.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "tuner/planners/fastermoe/fastermoe_equations.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/placement/transfer_loads.h"

namespace tuner {
namespace {

constexpr int kUsualRanksPerGroup = 4;     // FasterMoE's default
constexpr int kReleasedRanksPerGroup = 2;  // its artifact's

bool is_released(const PlannerOptions& options) {
  return whole_value_of(options, kReleasedShadows, 0) == 1;
}

/// By what shadows are chosen.
enum class Rule {
  ours,      ///< parameters, gradients and startups count
  released,  ///< as in the authors' code
};

/// The same without what transfers cost whatever they send.
ProProphetCosts without_startups(ProProphetCosts costs) {
  for (RouteCost& route : costs.routes) {
    for (TransferCost* cost : {&route.trans, &route.agg}) {
      for (TransferCost::OnLink* link : {&cost->across, &cost->within}) {
        link->startup_s = link->pass_s = 0;
      }
    }
  }
  return costs;
}

/// A shadow on all members by the cheaper route. As released: its parameters alone, through the
/// network in one broadcast. [FasterMoE, code]
ShadowCost shadow_cost(const PlacedLayer& layer, Rule rule) {
  const std::vector<int>& homes = layer.rows.homes;
  moe::ExpertPlacement one = on_all_members(std::vector{0}, homes, layer.rows.members);
  const bool released = rule == Rule::released;
  one.route = released ? moe::ExpertRoute::ring : cheapest_route(layer.costs, one, homes);
  const TransferTimes each = transfer_times(without_startups(layer.costs), one, homes);
  if (released) return {each.trans_s, 0};
  const TransferTimes all = transfer_times(layer.costs, one, homes);
  const double each_s = each.trans_s + each.agg_s;
  return {each_s, all.trans_s + all.agg_s - each_s};
}

/// The experts that the rule shadows, where they save time by Eq. 6 too (ours). Eq. 6 knows that
/// ranks have several experts and share network cards. As released, the rule alone decides.
moe::Schedule shadows(const Situation& situation, Rule rule) {
  const bool released = rule == Rule::released;
  return placed_schedule(situation, "fastermoe", [&](const PlacedLayer& layer) {
    const auto shadowed = shadowed_experts(rows_by_expert(layer.rows), layer.costs.exchange,
                                           layer.costs.experts, shadow_cost(layer, rule));
    moe::ExpertPlacement shadows = on_all_members(shadowed, layer.rows.homes, layer.rows.members);
    shadows.route = cheapest_route(layer.costs, shadows, layer.rows.homes);
    moe::ExpertPlacement at_home;
    shadows.homes = at_home.homes = layer.rows.homes;
    const auto layer_s = [&](const moe::ExpertPlacement& placement) {
      return placed_layer_s(layer.routing, situation.groups, placement, layer.costs,
                            Transfers::blocking);
    };
    return released || layer_s(shadows) < layer_s(at_home) ? shadows : at_home;
  });
}

/// The ranks of a group: the number asked for, or the largest below it with at least two groups.
int ranks_per_group(const Situation& situation, const PlannerOptions& options, Rule rule) {
  const int members = situation.groups.layout.expert;
  const int usual = rule == Rule::released ? kReleasedRanksPerGroup : kUsualRanksPerGroup;
  int size = whole_value_of(options, kRanksPerGroup, usual);
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
  const bool has_groups = situation.groups.layout.expert > 1;
  std::vector<Candidate> candidates;
  for (const Rule rule : {Rule::ours, Rule::released}) {
    if (is_released(options) && rule == Rule::ours) continue;
    const moe::Schedule alone = shadows(situation, rule);
    const auto add = [&](const std::string& parameters, moe::Schedule schedule) {
      const char* by = rule == Rule::ours ? "{}" : R"({"rule": "as released"})";
      candidates.push_back({std::move(schedule), join_parameters(parameters, by)});
    };
    if (!is_released(options) || !has_groups) add(R"({"exchange": "whole"})", alone);
    if (!has_groups) continue;
    const int size = ranks_per_group(situation, options, rule);
    add(fmt::format(R"({{"exchange": "by groups", "ranks_per_group": {}}})", size),
        by_groups(situation, size, alone));
  }
  return candidates;
}

}  // namespace tuner
