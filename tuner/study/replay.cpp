#include "tuner/study/replay.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The costs with the paces of each iteration alone, where there are any.
std::vector<CostModel> costs_by_iteration(const CostModel& costs, std::size_t iterations) {
  std::vector<CostModel> by_iteration(iterations, costs);
  for (std::size_t i = 0; i < iterations && !costs.paces.empty(); ++i) {
    by_iteration[i].paces = {costs.paces[i % costs.paces.size()]};
  }
  return by_iteration;
}

/// The situation with the routing of one iteration alone.
Situation in_iteration(const Situation& whole, const moe::Routing& routing, const CostModel& costs,
                       PlanMemory* memory) {
  Situation one{whole.program, whole.groups, routing, costs, whole.cluster};
  one.homes_now = whole.homes_now;
  one.memory = memory;
  return one;
}

}  // namespace

Replay replay(const Situation& situation, const Planner& planner, int plan_every,
              std::span<PlanMemory> memories, const PlanIteration& plan) {
  const std::span<const moe::Routing> routings = routings_of(situation);
  if (routings.size() < 2 || memories.size() != routings.size() || plan_every < 1) {
    throw std::invalid_argument("replay: two iterations and a memory for each are needed");
  }
  const std::vector<CostModel> costs = costs_by_iteration(situation.costs, routings.size());
  const auto iteration = [&](std::size_t place, PlanMemory* memory) {
    return in_iteration(situation, routings[place], costs[place], memory);
  };
  Replay result;
  std::vector<moe::Schedule> in_force;
  std::vector<double> seconds;
  const auto every = static_cast<std::size_t>(plan_every);
  for (std::size_t i = 1; i < routings.size(); ++i) {
    const std::size_t from = (i - 1) / every * every;
    if (from == i - 1) {
      in_force.push_back(plan(iteration(from, &memories[from])));
      ++result.plans;
    } else {
      in_force.push_back(in_force.back());
    }
    seconds.push_back(simulated_s(iteration(i, &memories[i]), in_force.back()));
  }
  const std::size_t median = median_place(seconds);
  result.schedule = std::move(in_force[median]);
  result.prediction = predict(iteration(median + 1, nullptr), planner, result.schedule);
  return result;
}

}  // namespace tuner
