#include "tuner/planners/fastermoe/fastermoe.h"

#include <algorithm>
#include <utility>

#include "tuner/planners/fastermoe/fastermoe_equations.h"
#include "tuner/planners/most_loaded/most_loaded_experts.h"
#include "tuner/planners/pipeline_schedule.h"
#include "tuner/planners/placed_schedule.h"
#include "tuner/planners/situation_costs.h"

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

/// Groups that ranks exchange rows with, one after another; 1 where there are no two whole ones.
int groups_of_ranks(const Situation& situation) {
  const int members = situation.groups.layout.expert;
  return members % kRanksPerGroup == 0 ? members / kRanksPerGroup : 1;
}

bool exchanges_flat(const moe::Program& program) {
  return std::none_of(program.ops.begin(), program.ops.end(), [](const moe::Op& op) {
    return moe::is_all_to_all(op) && !std::holds_alternative<moe::AllToAll>(op.kind);
  });
}

moe::Schedule by_steps(const Situation& situation, moe::Schedule schedule) {
  for (const int layer : moe_layers(situation.program)) {
    for (const moe::Phase phase : {moe::Phase::forward, moe::Phase::backward}) {
      schedule.decisions.push_back(
          moe::Exchange{layer, phase, {}, moe::Route::pairwise, kRanksPerGroup});
    }
  }
  schedule.decisions.push_back(moe::StreamAssignment{"exchange_step", moe::Stream::inter_node});
  return schedule;
}

moe::Schedule by_chunks(const Situation& situation, moe::Schedule schedule) {
  const int groups = groups_of_ranks(situation);
  for (moe::Decision& decision :
       pipeline_schedule(situation.program, {}, {groups, groups}).decisions) {
    schedule.decisions.push_back(std::move(decision));
  }
  return schedule;
}

}  // namespace

std::vector<Candidate> fastermoe_candidates(const Situation& situation, const PlannerOptions&) {
  const moe::Schedule alone = shadows(situation);
  std::vector<Candidate> candidates{{alone.planner, R"({"exchange": "whole"})", alone}};
  if (groups_of_ranks(situation) < 2) return candidates;
  if (exchanges_flat(situation.program)) {
    candidates.push_back(
        {alone.planner, R"({"exchange": "by groups"})", by_steps(situation, alone)});
  }
  candidates.push_back(
      {alone.planner, R"({"exchange": "in chunks"})", by_chunks(situation, alone)});
  return candidates;
}

moe::Schedule plan_fastermoe(const Situation& situation, const PlannerOptions& options) {
  const auto ways = fastermoe_candidates(situation, options);
  std::vector<double> seconds;
  for (const Candidate& way : ways) seconds.push_back(simulated_s(situation, way.schedule));
  const auto best = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
  return ways[static_cast<std::size_t>(best)].schedule;
}

}  // namespace tuner
