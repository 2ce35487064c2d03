#include "tuner/planners/pro_prophet/pro_prophet.h"

#include <utility>

#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/pro_prophet/hidden_transfers.h"

namespace tuner {
namespace {

moe::Schedule searched(const Situation& situation, std::string planner, Transfers transfers) {
  return placed_schedule(situation, std::move(planner), [&](const PlacedLayer& layer) {
    return greedy_placement(layer.rows, layer.costs, {transfers}).placement;
  });
}

}  // namespace

moe::Schedule plan_pro_prophet_planner(const Situation& situation, const PlannerOptions&) {
  return searched(situation, "pro_prophet_planner", Transfers::blocking);
}

moe::Schedule plan_pro_prophet_scheduler(const Situation& situation, const PlannerOptions&) {
  return with_hidden_transfers(situation,
                               searched(situation, "pro_prophet_scheduler", Transfers::blocking));
}

moe::Schedule plan_pro_prophet(const Situation& situation, const PlannerOptions&) {
  return with_hidden_transfers(situation,
                               searched(situation, "pro_prophet", Transfers::overlapped));
}

double overlapped_iteration_s(const Situation& situation, const moe::Schedule& schedule) {
  return placed_iteration_s(situation, schedule, Transfers::overlapped);
}

std::vector<Candidate> pro_prophet_planner_candidates(const Situation& situation,
                                                      const PlannerOptions& options) {
  return {placed_candidate(plan_pro_prophet_planner(situation, options))};
}

std::vector<Candidate> pro_prophet_scheduler_candidates(const Situation& situation,
                                                        const PlannerOptions& options) {
  return {placed_candidate(plan_pro_prophet_scheduler(situation, options))};
}

std::vector<Candidate> pro_prophet_candidates(const Situation& situation,
                                              const PlannerOptions& options) {
  return {placed_candidate(plan_pro_prophet(situation, options))};
}

}  // namespace tuner
