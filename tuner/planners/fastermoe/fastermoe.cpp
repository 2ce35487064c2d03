#include "tuner/planners/fastermoe/fastermoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "tuner/planners/fastermoe/fastermoe_equations.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

constexpr int kRanksPerGroup = 4;  ///< FasterMoE's default

moe::Schedule shadows(const Situation& situation) {
  return placed_schedule(situation, "fastermoe", [&](const PlacedLayer& layer) {
    const auto shadowed = shadowed_experts(rows_by_expert(layer.rows), layer.costs.exchange,
                                           layer.costs.experts, layer.costs.trans_s.at(1));
    return on_all_members(shadowed, layer.rows.homes, layer.rows.members);
  });
}

/// Ranks of a group: FasterMoE's default, or where these are not two groups at least, the most that are.
int ranks_per_group(const Situation& situation) {
  const int members = situation.groups.layout.expert;
  int size = kRanksPerGroup;
  while (size > 1 && (members % size != 0 || members == size)) --size;
  return size;
}

/// What every group sends to another computed as soon as it is there, and sent back.
moe::Schedule by_groups(const Situation& situation, moe::Schedule schedule) {
  const int size = ranks_per_group(situation);
  const int groups = situation.groups.layout.expert / size;
  for (moe::Decision& decision :
       pipeline_schedule(situation.program, {}, {groups, groups}).decisions) {
    if (auto* split = std::get_if<moe::PipelineSplit>(&decision)) split->ranks_per_group = size;
    schedule.decisions.push_back(std::move(decision));
  }
  return schedule;
}

}  // namespace

std::vector<Candidate> fastermoe_candidates(const Situation& situation, const PlannerOptions&) {
  const moe::Schedule alone = shadows(situation);
  std::vector<Candidate> candidates{{alone.planner, R"({"exchange": "whole"})", alone}};
  if (situation.groups.layout.expert < 2) return candidates;
  candidates.push_back({alone.planner,
                        fmt::format(R"({{"exchange": "by groups", "ranks_per_group": {}}})",
                                    ranks_per_group(situation)),
                        by_groups(situation, alone)});
  return candidates;
}

moe::Schedule plan_fastermoe(const Situation& situation, const PlannerOptions& options) {
  return fastest_simulated(situation, fastermoe_candidates(situation, options)).schedule;
}

}  // namespace tuner
