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

Replay replay(const Situation& situation, const Planner& planner, const ReplayTurns& turns,
              std::span<PlanMemory> memories, const PlanIteration& plan) {
  const std::span<const moe::Routing> routings = routings_of(situation);
  const auto every = static_cast<std::size_t>(turns.plan_every);
  const auto history = static_cast<std::size_t>(turns.history);
  if (turns.plan_every < 1 || turns.history < 1 || routings.size() <= history ||
      memories.size() != routings.size()) {
    throw std::invalid_argument("replay: an iteration after the history, and memories, are needed");
  }
  CostModel even = situation.costs;
  even.slowdowns.clear();
  Replay result;
  std::vector<moe::Schedule> in_force;
  std::vector<double> seconds;
  for (std::size_t i = history; i < routings.size(); ++i) {
    const std::size_t from = history - 1 + (i - history) / every * every;
    if (from == i - 1) {
      Situation known = in_iteration(situation, routings[from], even, &memories[from]);
      if (history > 1) {
        known.routings = routings.subspan(i - history, history);
        known.memory = nullptr;
      }
      in_force.push_back(plan(known));
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
  const CostModel costs = costs_in_iteration(situation.costs, median + history);
  result.prediction = predict(in_iteration(situation, routings[median + history], costs, nullptr),
                              planner, result.schedule);
  return result;
}

}  // namespace tuner
