#include "tuner/planners/pipemoe_lina/pipemoe_lina.h"

#include "tuner/planners/gradients/gradient_places.h"
#include "tuner/planners/pipeline/best_degrees.h"

namespace tuner {
namespace {

/// Chunk after chunk as soon as it exists, at a place that others have not filled.
GrainPlaces wherever_idle(const StageGradients& stage) {
  GrainPlaces places(stage.grains.size(), stage.places.size());
  std::size_t next = 0;
  for (std::size_t place = 0; place < stage.places.size(); ++place) {
    double busy_s = 0;
    while (next < stage.grains.size() && stage.grains[next].usable <= place &&
           busy_s < stage.places[place].idle_s) {
      busy_s += seconds_of(stage.all_reduce, 1, stage.grains[next].bytes);
      places[next++] = place;
    }
  }
  return places;
}

}  // namespace

moe::Schedule pipemoe_lina_schedule(const Situation& situation, Degrees degrees,
                                    double chunk_bytes) {
  const moe::Schedule pipeline =
      pipeline_with_gradients(situation.program, "pipemoe_lina", degrees);
  return with_gradients(situation, pipeline, moe::apply(situation.program, pipeline), wherever_idle,
                        chunk_bytes);
}

moe::Schedule plan_pipemoe_lina(const Situation& situation, const PlannerOptions& options) {
  const auto schedule_of = [&](Degrees degrees) {
    return pipemoe_lina_schedule(situation, degrees);
  };
  return schedule_of(best_degrees_by_simulation(situation, options.most_chunks, schedule_of));
}

std::vector<Candidate> pipemoe_lina_candidates(const Situation& situation,
                                               const PlannerOptions& options) {
  return {degrees_candidate(plan_pipemoe_lina(situation, options))};
}

}  // namespace tuner
