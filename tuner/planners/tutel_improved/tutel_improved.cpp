#include "tuner/planners/tutel_improved/tutel_improved.h"

#include <utility>

#include "tuner/planners/gradients/whole_gradients.h"
#include "tuner/planners/pipeline/best_degrees.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

constexpr const char* kTutelImproved = "tutel_improved";

/// The best by simulation of one degree for both phases. Equal times: fewer chunks.
moe::Schedule with_one_degree(const Situation& situation, int most_chunks) {
  moe::Schedule best = tutel_improved_schedule(situation, {1, 1});
  double best_s = simulated_s(situation, best);
  for (int chunks = 2; chunks <= most_chunks; ++chunks) {
    moe::Schedule schedule = tutel_improved_schedule(situation, {chunks, chunks});
    if (const double schedule_s = simulated_s(situation, schedule); schedule_s < best_s) {
      best = std::move(schedule);
      best_s = schedule_s;
    }
  }
  return best;
}

}  // namespace

moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees) {
  return with_whole_gradients(unplaced_gradients(
      situation, pipeline_with_gradients(situation.program, kTutelImproved, degrees)));
}

moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options) {
  if (whole_value_of(options, kReleasedDegree, 0) == 1) {
    return with_one_degree(situation, most_chunks(options));
  }
  return fastest_by_simulation(
      situation, most_chunks(options),
      {[&](Degrees degrees) { return tutel_improved_schedule(situation, degrees); },
       [&](Degrees degrees) {
         return pipeline_schedule(situation.program, kTutelImproved, degrees);
       }});
}

}  // namespace tuner
