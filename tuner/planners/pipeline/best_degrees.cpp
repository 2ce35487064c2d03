#include "tuner/planners/pipeline/best_degrees.h"

#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

Degrees best_degrees(int most, const std::function<double(Degrees)>& seconds_of) {
  Degrees best{1, 1};
  double best_s = seconds_of(best);
  for (int Degrees::*phase : {&Degrees::forward, &Degrees::backward}) {
    const Degrees start = best;
    for (int chunks = 2; chunks <= most; ++chunks) {
      Degrees tried = start;
      tried.*phase = chunks;
      if (const double tried_s = seconds_of(tried); tried_s < best_s) {
        best = tried;
        best_s = tried_s;
      }
    }
  }
  return best;
}

Degrees best_degrees_by_simulation(const Situation& situation, int most,
                                   const std::function<moe::Schedule(Degrees)>& schedule_of) {
  return best_degrees(
      most, [&](Degrees degrees) { return simulated_s(situation, schedule_of(degrees)); });
}

moe::Schedule fastest_by_simulation(
    const Situation& situation, int most,
    const std::vector<std::function<moe::Schedule(Degrees)>>& ways) {
  std::vector<Candidate> candidates;
  for (const auto& way : ways) {
    candidates.push_back(degrees_candidate(way(best_degrees_by_simulation(situation, most, way))));
  }
  return fastest_simulated(situation, std::move(candidates)).schedule;
}

}  // namespace tuner
