#include "tuner/planners/situation_costs.h"

#include <algorithm>

#include "moe/program/stage_program.h"
#include "moe/run/memory_plan.h"
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
  return simulated_program_s(situation, moe::apply(situation.program, schedule));
}

double simulated_program_s(const Situation& situation, const moe::Program& scheduled) {
  return simulate(scheduled, situation.groups, situation.routing, situation.costs,
                  situation.cluster)
      .duration_s;
}

std::int64_t predicted_peak_bytes(const Situation& situation, const moe::Program& scheduled) {
  std::vector<moe::StageProgram> stages;
  for (int stage = 0; stage < scheduled.stages; ++stage) {
    stages.push_back(moe::stage_program(scheduled, stage));
  }
  std::int64_t peak = 0;
  const auto bindings = bind_all(scheduled, situation.groups, situation.routing);
  for (std::size_t rank = 0; rank < bindings.size(); ++rank) {
    const auto stage =
        static_cast<std::size_t>(moe::stage_of(situation.groups, static_cast<int>(rank)));
    peak = std::max(peak, moe::planned_peak_bytes(stages[stage].program, bindings[rank]));
  }
  return peak;
}

}  // namespace tuner
