#include "tuner/prediction.h"

#include <algorithm>

#include "moe/memory_plan.h"
#include "tuner/simulate.h"

namespace tuner {

Prediction predict(const Situation& situation, const Planner& planner,
                   const moe::Schedule& schedule) {
  Prediction prediction;
  prediction.program = moe::apply(situation.program, schedule);
  prediction.paper_s = planner.paper_seconds(situation, schedule);
  prediction.timeline = simulate(prediction.program, situation.groups, situation.routing,
                                 situation.costs, situation.cluster);
  prediction.bound = lower_bound(prediction.program, situation.groups, situation.routing,
                                 situation.costs, situation.cluster);
  for (const moe::Binding& binding :
       bind_all(prediction.program, situation.groups, situation.routing)) {
    prediction.peak_bytes =
        std::max(prediction.peak_bytes, moe::planned_peak_bytes(prediction.program, binding));
  }
  return prediction;
}

}  // namespace tuner
