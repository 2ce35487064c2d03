#include "tuner/study/rounds.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tuner {
namespace {

constexpr int kUntilNoiseIsKnown = 2;

/// The first repeat up to `most` that a trial lacks which has fewer, and all such trials.
Round first_missing(std::span<const Repeats> trials, int most) {
  for (int repeat = 1; repeat <= most; ++repeat) {
    Round round{repeat, {}};
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (static_cast<int>(trials[i].size()) < most && !trials[i].contains(repeat)) {
        round.trials.push_back(i);
      }
    }
    if (!round.trials.empty()) return round;
  }
  return {};
}

/// The fastest and those tied with it; empty where nothing is.
std::vector<std::size_t> not_told_apart(std::span<const Repeats> trials) {
  const std::size_t best = fastest(trials);
  std::vector<std::size_t> result = ties(trials)[best];
  if (!result.empty()) result.push_back(best);
  std::ranges::sort(result);
  return result;
}

}  // namespace

Round next_round(std::span<const Repeats> trials, std::optional<std::size_t> sequential,
                 int repeats) {
  if (trials.empty()) return {};
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
  // A round that was interrupted is finished first, so that all have the same repeats.
  Round next{newest, {}};
  for (const std::size_t i : tied) {
    if (!trials[i].contains(newest)) next.trials.push_back(i);
  }
  if (next.trials.empty()) next = {newest + 1, std::move(tied)};
  std::erase_if(next.trials, [&](std::size_t i) {
    return static_cast<std::int64_t>(trials[i].size()) >= 2 * std::int64_t{repeats};
  });
  if (!next.trials.empty() && static_cast<std::int64_t>(next.trials.size()) <= left) return next;

  Round rest = first_missing(trials, repeats);
  if (static_cast<std::int64_t>(rest.trials.size()) > left) {
    rest.trials.resize(static_cast<std::size_t>(std::max<std::int64_t>(left, 0)));
  }
  return rest;
}

}  // namespace tuner
