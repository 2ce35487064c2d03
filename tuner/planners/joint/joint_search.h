#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/joint/aspects.h"

namespace tuner {

/// The start of a search over all decisions, and its judge.
struct JointProblem {
  std::vector<moe::Schedule>
      seeds;  ///< the plans of others; those that are not allowed are skipped
  /// The time of a schedule; empty where it is not legal or needs more memory than there is.
  std::function<std::optional<double>(const moe::Schedule&)> seconds;
  /// Schedules near one: with other numbers of chunks, or gradients planned anew.
  std::vector<std::function<std::vector<moe::Schedule>(const moe::Schedule&)>> neighbours;
  int most_tried = 600;  ///< schedules that are judged beside the seeds
};

struct JointResult {
  moe::Schedule schedule;
  double seconds = 0;
  std::size_t seed = 0;     ///< index of the best seed before the search
  double seed_seconds = 0;  ///< of it
  int tried = 0;            ///< different schedules, seeds among them
};

/// Starts from the best seed and goes on in rounds while one finds anything better. A round tries
/// the aspects of every other seed, each alone and those that go together, then the neighbours. The
/// result is never worse than any seed, and the same for the same problem. No schedule is judged
/// twice. Empty where no seed is allowed. [ours]
std::optional<JointResult> search_jointly(const JointProblem& problem);

/// The time of a schedule without one of its aspects, and without those that cannot stand without
/// it.
struct WithoutAspect {
  Aspect aspect;
  Aspects with_it;                ///< gradients or weight gradients whose places need the aspect
  std::optional<double> seconds;  ///< empty where the rest is not legal
};
std::vector<WithoutAspect> each_taken_away(
    const moe::Schedule& schedule,
    const std::function<std::optional<double>(const moe::Schedule&)>& seconds);

}  // namespace tuner
