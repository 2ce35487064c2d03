#include "tuner/study/replay.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The situation with the routing of one iteration alone.
Situation in_iteration(const Situation& whole, const moe::Routing& routing, const CostModel& costs,
                       PlanMemory* memory) {
  Situation one{whole.program, whole.groups, routing, costs, whole.cluster};
  one.homes_now = whole.homes_now;
  one.memory = memory;
  return one;
}

/// The costs with the slowdowns of one iteration alone, in turn, where there are any.
CostModel costs_in_iteration(const CostModel& costs, std::size_t iteration) {
  CostModel one = costs;
  if (!costs.slowdowns.empty()) {
    one.slowdowns = {costs.slowdowns[iteration % costs.slowdowns.size()]};
  }
  return one;
}

}  // namespace

Replay replay(const Situation& situation, const Planner& planner, int plan_every,
              std::span<PlanMemory> memories, const PlanIteration& plan) {
  const std::span<const moe::Routing> routings = routings_of(situation);
  if (routings.size() < 2 || memories.size() != routings.size() || plan_every < 1) {
    throw std::invalid_argument("replay: two iterations and a memory for each are needed");
  }
  CostModel even = situation.costs;
  even.slowdowns.clear();
  Replay result;
  std::vector<moe::Schedule> in_force;
  std::vector<double> seconds;
  const auto every = static_cast<std::size_t>(plan_every);
  for (std::size_t i = 1; i < routings.size(); ++i) {
    const std::size_t from = (i - 1) / every * every;
    if (from == i - 1) {
      in_force.push_back(plan(in_iteration(situation, routings[from], even, &memories[from])));
      ++result.plans;
    } else {
      in_force.push_back(in_force.back());
    }
    const CostModel costs = costs_in_iteration(situation.costs, i);
    // What is remembered was simulated for plans, where all ranks compute as the fits say.
    PlanMemory* memory = costs.slowdowns.empty() ? &memories[i] : nullptr;
    seconds.push_back(
        simulated_s(in_iteration(situation, routings[i], costs, memory), in_force.back()));
  }
  const std::size_t median = median_place(seconds);
  result.schedule = std::move(in_force[median]);
  const CostModel costs = costs_in_iteration(situation.costs, median + 1);
  result.prediction = predict(in_iteration(situation, routings[median + 1], costs, nullptr),
                              planner, result.schedule);
  return result;
}

}  // namespace tuner
