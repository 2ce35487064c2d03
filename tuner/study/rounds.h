#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/compare/turns.h"

namespace tuner {

/// Trainings that come next, one after the other.
struct Round {
  int repeat = 0;                   ///< its number, which no other round of these trials has
  std::vector<std::size_t> trials;  ///< their indices; empty where nothing is left to train
};

/// The next round of trials that were asked to be trained `repeats` times on average, given the
/// turns of each. The reference of comparison.h, `sequential` where there is one, stands in every
/// round; sequential's runs do not count.
///   1. Every trial is trained twice (once with one repeat). Those that lack such a run while
///      others have theirs join later: they come from a refinement, or a study goes on with more
///      planners, or it was killed amid a round. The fastest trial is trained once more beside
///      them, since what was measured earlier was measured under other conditions.
///   2. The runs that are left go first to the fastest trial and to those tied with it, at most
///      twice `repeats` to each.
///   3. Runs that are then still left go to those of the other trials that have fewest, up to
///      `repeats` each.
/// All depends on the trials' turns alone, so that a study that was killed goes on as it would
/// have.
Round next_round(const std::vector<Turns>& trials, std::optional<std::size_t> sequential,
                 int repeats);

}  // namespace tuner
