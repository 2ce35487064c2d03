#include "tuner/planners/most_loaded/most_loaded.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tuner/planners/placement/hidden_transfers.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

moe::Schedule top(const Situation& situation, std::string planner, std::size_t count) {
  return placed_schedule(situation, std::move(planner), [&](const PlacedLayer& layer) {
    const std::vector<int> order = most_loaded(rows_by_expert(layer.rows));
    return on_all_members(std::span(order).first(std::min(count, order.size())), layer.rows.homes,
                          layer.rows.members);
  });
}

std::vector<Candidate> top_candidates(const Situation& situation, std::string planner,
                                      std::size_t count) {
  moe::Schedule in_place = top(situation, std::move(planner), count);
  std::vector<Candidate> candidates{
      {in_place.planner, R"({"transfers": "in their place"})", in_place}};
  moe::Schedule hidden = with_hidden_transfers(situation, std::move(in_place));
  candidates.push_back({hidden.planner, R"({"transfers": "hidden"})", std::move(hidden)});
  return candidates;
}

}  // namespace

std::vector<Candidate> top2_candidates(const Situation& situation, const PlannerOptions&) {
  return top_candidates(situation, "top2", 2);
}

std::vector<Candidate> top3_candidates(const Situation& situation, const PlannerOptions&) {
  return top_candidates(situation, "top3", 3);
}

moe::Schedule plan_top2(const Situation& situation, const PlannerOptions& options) {
  return fastest_simulated(situation, top2_candidates(situation, options)).schedule;
}

moe::Schedule plan_top3(const Situation& situation, const PlannerOptions& options) {
  return fastest_simulated(situation, top3_candidates(situation, options)).schedule;
}

}  // namespace tuner
