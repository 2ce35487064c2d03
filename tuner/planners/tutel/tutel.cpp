#include "tuner/planners/tutel/tutel.h"

#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner {
namespace {

constexpr int kUsualDegree = 2;

}  // namespace

moe::Schedule plan_tutel(const Situation& situation, const PlannerOptions& options) {
  const int degree = whole_value_of(options, kDegree, kUsualDegree);
  return pipeline_schedule(situation.program, "tutel", {degree, degree});
}

std::vector<Candidate> tutel_candidates(const Situation& situation, const PlannerOptions& options) {
  if (asked_for(options, kDegree)) return {degrees_candidate(plan_tutel(situation, options))};
  std::vector<Candidate> candidates;
  for (const int degree : {1, 2, 3, 4, 8}) {
    if (degree > most_chunks(options)) continue;
    candidates.push_back(pipeline_candidate(situation.program, "tutel", {degree, degree}));
  }
  return candidates;
}

}  // namespace tuner
