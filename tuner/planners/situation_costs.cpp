#include "tuner/planners/situation_costs.h"

#include "tuner/simulate/simulate.h"

namespace tuner {

std::vector<OpCost> costs_of(const Situation& situation, const moe::Program& program) {
  return op_costs(program, situation.groups, bind_all(program, situation.groups, situation.routing),
                  situation.costs, situation.cluster);
}

std::vector<double> alone_seconds(const Situation& situation, const std::vector<OpCost>& costs) {
  std::vector<double> seconds;
  for (const OpCost& cost : costs) {
    seconds.push_back(alone_seconds(cost, situation.groups, situation.cluster));
  }
  return seconds;
}

double simulated_s(const Situation& situation, const moe::Schedule& schedule) {
  return simulate(moe::apply(situation.program, schedule), situation.groups, situation.routing,
                  situation.costs, situation.cluster)
      .duration_s;
}

}  // namespace tuner
