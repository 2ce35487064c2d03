#include "tuner/planners/tutel_improved/tutel_improved.h"

#include "tuner/planners/gradients/whole_gradients.h"
#include "tuner/planners/pipeline/best_degrees.h"

namespace tuner {
namespace {

constexpr const char* kTutelImproved = "tutel_improved";

}  // namespace

moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees) {
  return with_whole_gradients(unplaced_gradients(
      situation, pipeline_with_gradients(situation.program, kTutelImproved, degrees)));
}

moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options) {
  return fastest_by_simulation(
      situation, most_chunks(options),
      {[&](Degrees degrees) { return tutel_improved_schedule(situation, degrees); },
       [&](Degrees degrees) {
         return pipeline_schedule(situation.program, kTutelImproved, degrees);
       }});
}

}  // namespace tuner
