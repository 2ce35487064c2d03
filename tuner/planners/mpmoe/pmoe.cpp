#include "tuner/planners/mpmoe/pmoe.h"

#include "tuner/planners/mpmoe/granularity_search.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

moe::Schedule plan_pmoe(const Situation& situation, const PlannerOptions& options) {
  const auto schedule_of = [&](int n) {
    return pipeline_schedule(situation.program, "pmoe", {n, n});
  };
  if (const auto degree = asked_for(options, kDegree)) {
    return schedule_of(static_cast<int>(*degree));
  }
  return schedule_of(mpmoe::until_it_rises(
      1, most_chunks(options), [&](int n) { return simulated_s(situation, schedule_of(n)); }));
}

}  // namespace tuner
