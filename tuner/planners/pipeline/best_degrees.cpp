#include "tuner/planners/pipeline/best_degrees.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

ChosenDegree best_degree(int most, const std::function<double(int)>& seconds_of) {
  if (most < 1) {
    throw std::invalid_argument(fmt::format("best degree: at most {} chunks: expected 1", most));
  }
  ChosenDegree best{1, seconds_of(1)};
  for (int chunks = 2; chunks <= most; ++chunks) {
    if (const double seconds = seconds_of(chunks); seconds < best.seconds) best = {chunks, seconds};
  }
  return best;
}

Degrees best_degrees(int most, const std::function<double(Degrees)>& seconds_of) {
  const ChosenDegree forward = best_degree(most, [&](int n) { return seconds_of({n, 1}); });
  const ChosenDegree backward = best_degree(most, [&](int n) {
    return n == 1 ? forward.seconds : seconds_of({forward.chunks, n});
  });
  return {forward.chunks, backward.chunks};
}

moe::Schedule with_best_degrees(const Situation& situation, int most,
                                const ScheduleOfDegrees& way) {
  if (situation.progress != nullptr) {
    situation.progress->expect(2 * static_cast<std::size_t>(most) - 1);
  }
  return way(
      best_degrees(most, [&](Degrees degrees) { return simulated_s(situation, way(degrees)); }));
}

}  // namespace tuner
