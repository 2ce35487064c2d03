#include "tuner/planners/tutel_improved/tutel_improved.h"

#include <algorithm>

#include "tuner/planners/gradients/gradient_places.h"
#include "tuner/planners/pipeline/best_degrees.h"

namespace tuner {
namespace {

/// True where no experts compute after the place: after a combine, or in a block before another
/// without experts.
bool is_dense(const std::vector<GradientPlace>& places, std::size_t index) {
  using moe::ExchangePlace;
  if (places[index].after == ExchangePlace::dispatch) return false;
  if (places[index].after == ExchangePlace::combine) return true;
  return index + 1 == places.size() || places[index + 1].after != ExchangePlace::dispatch;
}

GrainPlaces beside_dense_parts(const StageGradients& stage) {
  GrainPlaces places;
  for (const GradientGrain& grain : stage.grains) {
    std::size_t place = grain.usable;
    while (place < stage.places.size() && !is_dense(stage.places, place)) ++place;
    places.push_back(place);
  }
  return places;
}

}  // namespace

moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees) {
  const moe::Schedule pipeline =
      pipeline_with_gradients(situation.program, "tutel_improved", degrees);
  return with_gradients(situation, pipeline, moe::apply(situation.program, pipeline),
                        beside_dense_parts);
}

moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options) {
  const auto schedule_of = [&](Degrees degrees) {
    return tutel_improved_schedule(situation, degrees);
  };
  return schedule_of(best_degrees_by_simulation(situation, most_chunks(options), schedule_of));
}

}  // namespace tuner
