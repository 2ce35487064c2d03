#include "tuner/planners/sequential/sequential.h"

#include "tuner/costs/op_costs.h"

namespace tuner {

moe::Schedule plan_sequential(const Situation&, const PlannerOptions&) {
  moe::Schedule schedule;
  schedule.planner = "sequential";
  return schedule;
}

double sequential_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  double total_s = 0;
  for (const OpCost& cost :
       op_costs(program, situation.groups, bind_all(program, situation.groups, situation.routing),
                situation.costs, situation.cluster)) {
    total_s += alone_seconds(cost, situation.groups, situation.cluster);
  }
  return total_s;
}

std::vector<Candidate> sequential_candidates(const Situation& situation,
                                             const PlannerOptions& options) {
  return {{"sequential", "{}", plan_sequential(situation, options)}};
}

}  // namespace tuner
