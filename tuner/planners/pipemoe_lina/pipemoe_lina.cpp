#include "tuner/planners/pipemoe_lina/pipemoe_lina.h"

#include <utility>

#include "tuner/planners/gradients/gradient_places.h"
#include "tuner/planners/pipeline/best_degrees.h"

namespace tuner {
namespace {

/// Puts each slice in turn at the first place where it exists and others leave the stream idle.
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
                                    double slice_bytes) {
  moe::Schedule pipeline = pipeline_with_gradients(situation.program, "pipemoe_lina", degrees);
  return with_gradients(unplaced_gradients(situation, std::move(pipeline), slice_bytes),
                        wherever_idle);
}

moe::Schedule plan_pipemoe_lina(const Situation& situation, const PlannerOptions& options) {
  const double slice_bytes = 1e6 * value_of(options, kSliceMegabytes, kLinaSliceBytes / 1e6);
  const auto schedule_of = [&](Degrees degrees) {
    return pipemoe_lina_schedule(situation, degrees, slice_bytes);
  };
  return schedule_of(best_degrees_by_simulation(situation, most_chunks(options), schedule_of));
}

}  // namespace tuner
