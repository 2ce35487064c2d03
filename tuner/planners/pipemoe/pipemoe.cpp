#include "tuner/planners/pipemoe/pipemoe.h"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/planners/pipeline/best_degrees.h"

namespace tuner {
namespace {

constexpr int kPairsUpTo = 4;

moe::Schedule schedule_of(const Situation& situation, Degrees degrees) {
  return pipeline_schedule(situation.program, "pipemoe", degrees);
}

}  // namespace

Degrees pipemoe_degrees_by_simulation(const Situation& situation, const PlannerOptions& options) {
  return best_degrees_by_simulation(situation, most_chunks(options), [&](Degrees degrees) {
    return schedule_of(situation, degrees);
  });
}

Degrees pipemoe_degrees_by_equations(const Situation& situation, const PlannerOptions& options) {
  return best_degrees(most_chunks(options), [&](Degrees degrees) {
    return pipelined_iteration_s(situation, schedule_of(situation, degrees));
  });
}

moe::Schedule plan_pipemoe(const Situation& situation, const PlannerOptions& options) {
  return schedule_of(situation, pipemoe_degrees_by_simulation(situation, options));
}

std::string pipemoe_remark(const Situation& situation, const PlannerOptions& options,
                           const moe::Schedule& schedule) {
  const Degrees own = degrees_of(schedule),
                paper = pipemoe_degrees_by_equations(situation, options);
  return fmt::format(
      "pipemoe: {} chunks forward, {} backward by simulation; {} and {} by the closed form",
      own.forward, own.backward, paper.forward, paper.backward);
}

std::vector<Candidate> pipemoe_candidates(const Situation& situation,
                                          const PlannerOptions& options) {
  const int pairs = std::min(kPairsUpTo, most_chunks(options));
  std::vector<Degrees> tried;
  for (int forward = 1; forward <= pairs; ++forward) {
    for (int backward = 1; backward <= pairs; ++backward) tried.push_back({forward, backward});
  }
  const Degrees own = pipemoe_degrees_by_simulation(situation, options);
  if (std::find(tried.begin(), tried.end(), own) == tried.end()) tried.push_back(own);
  std::vector<Candidate> candidates;
  for (const Degrees degrees : tried) {
    candidates.push_back(pipeline_candidate(situation.program, "pipemoe", degrees));
  }
  return candidates;
}

}  // namespace tuner
