#include "tuner/planners/tutel/tutel.h"

#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner {
namespace {
constexpr int kDefaultDegree = 2;
}

moe::Schedule plan_tutel(const Situation& situation, const PlannerOptions& options) {
  const int degree = options.degree > 0 ? options.degree : kDefaultDegree;
  return pipeline_schedule(situation.program, "tutel", {degree, degree});
}

std::vector<Candidate> tutel_candidates(const Situation& situation, const PlannerOptions& options) {
  std::vector<Candidate> candidates;
  for (const int degree : {1, 2, 3, 4, 8}) {
    const bool asked = options.degree == 0 ? degree <= options.most_chunks : false;
    if (asked) {
      candidates.push_back(pipeline_candidate(situation.program, "tutel", {degree, degree}));
    }
  }
  if (options.degree > 0) {
    candidates.push_back(
        pipeline_candidate(situation.program, "tutel", {options.degree, options.degree}));
  }
  return candidates;
}

}  // namespace tuner
