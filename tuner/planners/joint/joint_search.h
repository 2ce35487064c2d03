#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/joint/aspects.h"

namespace tuner {

/// The times of a schedule over several iterations (judged_iterations()).
struct Judgement {
  double seconds = std::numeric_limits<double>::infinity();  ///< time of the median iteration
  double worst_s = std::numeric_limits<double>::infinity();  ///< time of the slowest
  /// With the typical routing, where all ranks compute as the fits say.
  double typical_s = std::numeric_limits<double>::infinity();
};
/// True for less time in the median iteration and no more in the slowest.
inline bool beats(const Judgement& one, const Judgement& other) {
  return one.seconds < other.seconds && one.worst_s <= other.worst_s;
}

/// The start of a search over all decisions, and its judge.
struct JointProblem {
  /// The plans of others. Those that are not allowed are skipped.
  std::vector<moe::Schedule> seeds;
  /// Judges a schedule. Empty where it is not legal or needs more memory than there is. It may also
  /// be empty as soon as it is certain that the schedule does not beat `to_beat`. Unless `to_beat`
  /// is infinite, it may be empty where a win looks so unlikely that the search can do without it.
  std::function<std::optional<Judgement>(const moe::Schedule&, const Judgement& to_beat)> judge;
  /// Each gives schedules near one: with other numbers of chunks, or gradients planned anew.
  std::vector<std::function<std::vector<moe::Schedule>(const moe::Schedule&)>> neighbours;
  int most_tried = 600;  ///< schedules that are judged beside the seeds
};

struct JointResult {
  moe::Schedule schedule;
  Judgement judged;
  std::size_t seed = 0;   ///< index of the best seed before the search
  Judgement seed_judged;  ///< its judgement
  int tried = 0;          ///< number of different schedules, seeds among them
};

/// Starts from the best seed and goes on in rounds while one finds anything better. A round tries
/// the aspects of every other seed, each alone and those that go together, then the neighbours. In
/// the median iteration the result is never worse than any seed. In the slowest one it is never
/// worse than the seed that is best in the median one. It is the same for the same problem. No
/// schedule is judged twice. Empty where no seed is allowed. [ours]
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
