#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/joint/aspects.h"

namespace tuner {

/// What a search over all decisions together begins with, and how it judges.
struct JointProblem {
  std::vector<moe::Schedule>
      seeds;  ///< what others have planned; those that may not be are passed over
  /// None for a schedule that is not legal, or needs more memory than there is.
  std::function<std::optional<double>(const moe::Schedule&)> seconds;
  /// Schedules near one: other numbers of chunks, gradients planned anew for its cuts.
  std::vector<std::function<std::vector<moe::Schedule>(const moe::Schedule&)>> neighbours;
  int most_tried = 600;  ///< beside the seeds
};

struct JointResult {
  moe::Schedule schedule;
  double seconds = 0;
  std::size_t seed = 0;     ///< that was best before the search
  double seed_seconds = 0;  ///< of it
  int tried = 0;            ///< different schedules, seeds among them
};

/// From the best seed on, in rounds as long as one finds anything better: the aspects of every
/// other seed in its place, each alone and those that go together, then its neighbours. Never worse
/// than any seed; the same for the same problem. No schedule is judged twice. None where no seed
/// may be. [ours]
std::optional<JointResult> search_jointly(const JointProblem& problem);

/// What a schedule takes without one of its aspects, and without those that do not stand alone
/// then.
struct WithoutAspect {
  Aspect aspect;
  Aspects with_it;                ///< gradients or weight gradients, placed by what is taken away
  std::optional<double> seconds;  ///< none where nothing does
};
std::vector<WithoutAspect> each_taken_away(
    const moe::Schedule& schedule,
    const std::function<std::optional<double>(const moe::Schedule&)>& seconds);

}  // namespace tuner
