#include "tuner/planners/most_loaded/most_loaded.h"

#include <algorithm>
#include <utility>

#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_schedule.h"

namespace tuner {
namespace {

moe::Schedule top(const Situation& situation, std::string planner, std::size_t count) {
  return placed_schedule(situation, std::move(planner), [&](const PlacedLayer& layer) {
    const std::vector<int> order = most_loaded(rows_by_expert(layer.rows));
    return on_all_members(std::span(order).first(std::min(count, order.size())), layer.rows.homes,
                          layer.rows.members);
  });
}

}  // namespace

moe::Schedule plan_top2(const Situation& situation, const PlannerOptions&) {
  return top(situation, "top2", 2);
}

moe::Schedule plan_top3(const Situation& situation, const PlannerOptions&) {
  return top(situation, "top3", 3);
}

}  // namespace tuner
