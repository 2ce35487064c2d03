#include "tuner/planners/pipelined/pipelined.h"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/planners/gradients/placed_gradients.h"
#include "tuner/planners/pipeline/best_degrees.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

ScheduleOfDegrees pipeline_of(const Situation& situation, const char* planner) {
  return [&situation, planner](Degrees degrees) {
    return pipeline_schedule(situation.program, planner, degrees);
  };
}

}  // namespace

moe::Schedule plan_tutel(const Situation& situation, const PlannerOptions& options) {
  const int degree = whole_value_of(options, kDegree, 2);
  return pipeline_schedule(situation.program, "tutel", {degree, degree});
}

std::vector<Candidate> tutel_candidates(const Situation& situation, const PlannerOptions& options) {
  if (asked_for(options, kDegree)) return {{plan_tutel(situation, options)}};
  std::vector<Candidate> candidates;
  for (const int degree : {1, 2, 3, 4, 8}) {
    if (degree > most_chunks(options)) continue;
    candidates.push_back({pipeline_schedule(situation.program, "tutel", {degree, degree})});
  }
  return candidates;
}

moe::Schedule plan_pipemoe(const Situation& situation, const PlannerOptions& options) {
  return with_best_degrees(situation, most_chunks(options), pipeline_of(situation, "pipemoe"));
}

std::string pipemoe_remark(const Situation& situation, const PlannerOptions& options,
                           const moe::Schedule& schedule) {
  const ScheduleOfDegrees pipeline = pipeline_of(situation, "pipemoe");
  const Degrees own = degrees_of(schedule),
                paper = best_degrees(most_chunks(options), [&](Degrees degrees) {
                  return pipelined_iteration_s(situation, pipeline(degrees));
                });
  return fmt::format(
      "pipemoe: {} chunks forward, {} backward by simulation; {} and {} by the closed form",
      own.forward, own.backward, paper.forward, paper.backward);
}

std::vector<Candidate> pipemoe_candidates(const Situation& situation,
                                          const PlannerOptions& options) {
  const int pairs = std::min(4, most_chunks(options));
  const ScheduleOfDegrees pipeline = pipeline_of(situation, "pipemoe");
  std::vector<Candidate> candidates;
  for (int forward = 1; forward <= pairs; ++forward) {
    for (int backward = 1; backward <= pairs; ++backward) {
      candidates.push_back({pipeline({forward, backward})});
    }
  }
  moe::Schedule own = plan_pipemoe(situation, options);
  const Degrees degrees = degrees_of(own);
  if (std::max(degrees.forward, degrees.backward) > pairs) candidates.push_back({std::move(own)});
  return candidates;
}

moe::Schedule plan_tutel_improved(const Situation& situation, const PlannerOptions& options) {
  const int most = most_chunks(options);
  const auto improved = [&](Degrees degrees) {
    return tutel_improved_schedule(situation, degrees);
  };
  if (whole_value_of(options, kReleasedDegree, 0) == 1) {
    const int chunks = best_degree(most, [&](int n) {
                         return simulated_s(situation, improved({n, n}));
                       }).chunks;
    return improved({chunks, chunks});
  }
  return fastest_simulated(
             situation,
             {{with_best_degrees(situation, most, improved)},
              {with_best_degrees(situation, most, pipeline_of(situation, "tutel_improved"))}})
      .schedule;
}

moe::Schedule tutel_improved_schedule(const Situation& situation, Degrees degrees) {
  return with_whole_gradients(unplaced_gradients(
      situation, pipeline_with_gradients(situation.program, "tutel_improved", degrees)));
}

moe::Schedule plan_pipemoe_lina(const Situation& situation, const PlannerOptions& options) {
  const double slice_bytes = 1e6 * value_of(options, kSliceMegabytes, 30);
  return with_best_degrees(situation, most_chunks(options), [&](Degrees degrees) {
    return pipemoe_lina_schedule(situation, degrees, slice_bytes);
  });
}

moe::Schedule pipemoe_lina_schedule(const Situation& situation, Degrees degrees,
                                    double slice_bytes) {
  return with_sliced_gradients(unplaced_gradients(
      situation, pipeline_with_gradients(situation.program, "pipemoe_lina", degrees), slice_bytes));
}

}  // namespace tuner
