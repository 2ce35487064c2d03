#include "tuner/planners/sequential/sequential.h"

#include <numeric>
#include <vector>

#include "db/records.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

moe::Schedule plan_sequential(const Situation&, const PlannerOptions&) {
  moe::Schedule schedule;
  schedule.planner = db::kSequential;
  return schedule;
}

double sequential_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  const std::vector<double> seconds = alone_seconds(situation, costs_of(situation, program));
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

}  // namespace tuner
