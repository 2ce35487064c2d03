#include "tuner/study/rounds.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

namespace tuner {
namespace {

constexpr int kUntilNoiseIsKnown = 2;

/// The number of the newest repeat of any trial; 0 where there is none.
int newest_repeat(std::span<const Repeats> trials) {
  int newest = 0;
  for (const Repeats& trial : trials) {
    if (!trial.empty()) newest = std::max(newest, trial.rbegin()->first);
  }
  return newest;
}

/// True of a trial that was not there in the first rounds.
bool joined_later(const Repeats& trial, int newest) {
  return newest >= kUntilNoiseIsKnown && !trial.contains(1);
}

/// The first repeat up to `most` that a trial lacks which has fewer, and all such trials. Trials
/// that joined later are left out.
Round first_missing(std::span<const Repeats> trials, int most) {
  const int newest = newest_repeat(trials);
  for (int repeat = 1; repeat <= most; ++repeat) {
    Round round{repeat, {}};
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (static_cast<int>(trials[i].size()) < most && !trials[i].contains(repeat) &&
          !joined_later(trials[i], newest)) {
        round.trials.push_back(i);
      }
    }
    if (!round.trials.empty()) return round;
  }
  return {};
}

/// What is left of the round `newest` of these trials, so that all have the same repeats; the next
/// round where nothing is.
Round rest_or_next(std::span<const Repeats> trials, std::vector<std::size_t> all, int newest) {
  Round rest{newest, {}};
  std::ranges::copy_if(all, std::back_inserter(rest.trials),
                       [&](std::size_t i) { return !trials[i].contains(newest); });
  return rest.trials.empty() ? Round{newest + 1, std::move(all)} : rest;
}

/// The first runs of trials that joined when others had theirs: of a refinement, or of a study that
/// goes on with more trials. What was measured earlier was measured under other conditions, so the
/// fastest trial and `sequential` are trained beside them, in rounds after all others.
Round first_runs_of_newcomers(std::span<const Repeats> trials,
                              std::optional<std::size_t> sequential) {
  const int newest = newest_repeat(trials);
  std::vector<std::size_t> newcomers;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const bool is_new = trials[i].size() < kUntilNoiseIsKnown;
    if (is_new && joined_later(trials[i], newest)) newcomers.push_back(i);
  }
  if (newcomers.empty()) return {};
  std::set<std::size_t> beside{fastest(trials)};
  if (sequential) beside.insert(*sequential);
  std::vector<std::size_t> all = newcomers;
  std::ranges::copy_if(beside, std::back_inserter(all),
                       [&](std::size_t i) { return std::ranges::count(newcomers, i) == 0; });
  // Newcomers come first in a round, so a round that was interrupted is known by them.
  const bool has_begun =
      std::ranges::any_of(newcomers, [&](std::size_t i) { return trials[i].contains(newest); });
  if (!has_begun) return {newest + 1, std::move(all)};
  return rest_or_next(trials, std::move(all), newest);
}

/// The fastest and those tied with it; empty where nothing is.
std::vector<std::size_t> not_told_apart(std::span<const Repeats> trials) {
  const std::size_t best = fastest(trials);
  std::vector<std::size_t> result = ties(trials, differences_of(trials))[best];
  if (!result.empty()) result.push_back(best);
  std::ranges::sort(result);
  return result;
}

}  // namespace

Round next_round(std::span<const Repeats> trials, std::optional<std::size_t> sequential,
                 int repeats) {
  if (trials.empty()) return {};
  Round newcomers = first_runs_of_newcomers(trials, sequential);
  if (repeats >= kUntilNoiseIsKnown && !newcomers.trials.empty()) return newcomers;
  Round first = first_missing(trials, std::min(repeats, kUntilNoiseIsKnown));
  if (!first.trials.empty()) return first;
  std::int64_t left = static_cast<std::int64_t>(repeats) * static_cast<std::int64_t>(trials.size());
  for (const Repeats& trial : trials) left -= static_cast<std::int64_t>(trial.size());

  std::vector<std::size_t> tied = not_told_apart(trials);
  if (!tied.empty() && sequential && std::ranges::count(tied, *sequential) == 0) {
    tied.insert(tied.begin(), *sequential);
  }
  int newest = 0;
  for (const std::size_t i : tied) newest = std::max(newest, trials[i].rbegin()->first);
  Round next = rest_or_next(trials, std::move(tied), newest);
  std::erase_if(next.trials, [&](std::size_t i) {
    return static_cast<std::int64_t>(trials[i].size()) >= 2 * std::int64_t{repeats};
  });
  if (!next.trials.empty() && static_cast<std::int64_t>(next.trials.size()) <= left) return next;

  Round rest = first_missing(trials, repeats);
  // What others met under the number that is missing was another training.
  rest.repeat = newest_repeat(trials) + 1;
  if (static_cast<std::int64_t>(rest.trials.size()) > left) {
    rest.trials.resize(static_cast<std::size_t>(std::max<std::int64_t>(left, 0)));
  }
  return rest;
}

}  // namespace tuner
