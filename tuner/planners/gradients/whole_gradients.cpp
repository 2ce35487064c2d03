#include "tuner/planners/gradients/whole_gradients.h"

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

moe::Schedule with_whole_gradients(const UnplacedGradients& gradients) {
  return with_gradients(gradients, beside_dense_parts);
}

}  // namespace tuner
