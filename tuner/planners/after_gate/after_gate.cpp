#include "tuner/planners/after_gate/after_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "db/experts_in_order.h"
#include "tuner/planners/placement/placed_schedule.h"

namespace tuner {
namespace {

/// Whether some of those among whom loads are evened have experts at different ranks.
bool moves_any(const Situation& situation, moe::LateDomain domain) {
  if (domain == moe::LateDomain::all) return true;
  for (int rank = 0; rank < situation.groups.ranks; ++rank) {
    if (moe::group_size(situation.groups, moe::GroupKind::expert_node, rank) > 1) return true;
  }
  return false;
}

/// With no more slots than there are experts on other ranks.
Candidate with_rule(const Situation& situation, const PlannerOptions& options, const char* planner,
                    moe::LateCopies copies) {
  copies.slots_of = static_cast<moe::SlotsOf>(whole_value_of(options, kSharedSlots, 0));
  return {placed_schedule(situation, planner, [&](const PlacedLayer& layer) {
    moe::ExpertPlacement placement;
    placement.homes = layer.rows.homes;
    if (!moves_any(situation, copies.domain)) return placement;
    placement.rows_of_others = moe::RowsOfOthers::balanced;
    placement.late = copies;
    const int experts = layer.rows.experts;
    placement.late.slots = std::min(copies.slots, experts - experts / layer.rows.members);
    return placement;
  })};
}

int experts_of_a_rank(const Situation& situation) {
  int most = 1;
  for (const moe::LayerRouting& layer : situation.routing.layers) {
    const db::ExpertsInOrder in_order{layer.experts, situation.groups.layout.expert};
    most = std::max(most, in_order.most());
  }
  return most;
}

std::vector<Candidate> ultraep_in(const Situation& situation, const PlannerOptions& options,
                                  const char* planner, moe::LateDomain domain) {
  std::vector<int> tried{1, 2};
  if (asked_for(options, kSlots)) tried = {whole_value_of(options, kSlots, 1)};
  std::vector<Candidate> candidates;
  for (const int slots : tried) {
    moe::LateCopies copies{moe::LateRule::ultraep, slots};
    copies.domain = domain;
    Candidate one = with_rule(situation, options, planner, copies);
    if (!candidates.empty() && one.schedule == candidates.back().schedule) continue;
    candidates.push_back(std::move(one));
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> ultraep_candidates(const Situation& situation,
                                          const PlannerOptions& options) {
  return ultraep_in(situation, options, "ultraep", moe::LateDomain::all);
}

std::vector<Candidate> feplb_candidates(const Situation& situation, const PlannerOptions& options) {
  return ultraep_in(situation, options, "feplb", moe::LateDomain::node);
}

std::vector<Candidate> moonep_candidates(const Situation& situation,
                                         const PlannerOptions& options) {
  const int slots = whole_value_of(options, kSlots, experts_of_a_rank(situation));
  return {with_rule(situation, options, "moonep", {moe::LateRule::moonep, slots})};
}

std::vector<Candidate> llep_candidates(const Situation& situation, const PlannerOptions& options) {
  moe::LateCopies copies{moe::LateRule::llep};
  copies.slots = whole_value_of(options, kSlots, std::max(4, experts_of_a_rank(situation)));
  copies.alpha = value_of(options, kAlpha, copies.alpha);
  std::vector<std::int64_t> tried{copies.least_rows, 128, 16};
  if (asked_for(options, kLeastRows)) {
    tried = {whole_value_of(options, kLeastRows, static_cast<int>(copies.least_rows))};
  }
  std::vector<Candidate> candidates;
  for (const std::int64_t rows : tried) {
    copies.least_rows = rows;
    candidates.push_back(with_rule(situation, options, "llep", copies));
  }
  return candidates;
}

std::string after_gate_parameters(const moe::Schedule& schedule) {
  const auto decisions = moe::decisions_of<moe::ReplicateExperts>(schedule);
  if (decisions.empty()) return R"({"slots": 0})";
  const moe::LateCopies& late = decisions.front().placement.late;
  if (late.rule == moe::LateRule::llep) return fmt::format(R"({{"rows": {}}})", late.least_rows);
  return fmt::format(R"({{"slots": {}}})", late.slots);
}

}  // namespace tuner
