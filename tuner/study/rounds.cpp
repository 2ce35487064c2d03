#include "tuner/study/rounds.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace tuner {
namespace {

constexpr int kUntilNoiseIsKnown = 2;

/// The number of the next round: what other trials met under an earlier number was another training,
/// of another hour or day.
int next_number(std::span<const Repeats> trials) {
  int newest = 0;
  for (const Repeats& trial : trials) {
    if (!trial.empty()) newest = std::max(newest, trial.rbegin()->first);
  }
  return newest + 1;
}

/// Those that have less than `most` repeats.
std::vector<std::size_t> those_below(std::span<const Repeats> trials, std::size_t most) {
  std::vector<std::size_t> below;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].size() < most) below.push_back(i);
  }
  return below;
}

/// With the fastest trial and `sequential` beside them where these have their repeats already.
std::vector<std::size_t> beside_the_best(std::span<const Repeats> trials,
                                         std::vector<std::size_t> newcomers,
                                         std::optional<std::size_t> sequential) {
  std::set<std::size_t> beside;
  if (newcomers.size() < trials.size()) beside.insert(fastest(trials));
  if (sequential) beside.insert(*sequential);
  for (const std::size_t i : beside) {
    if (std::ranges::count(newcomers, i) == 0) newcomers.push_back(i);
  }
  return newcomers;
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
  const int number = next_number(trials);
  std::vector<std::size_t> newcomers =
      those_below(trials, static_cast<std::size_t>(std::min(repeats, kUntilNoiseIsKnown)));
  if (!newcomers.empty()) {
    return {number, beside_the_best(trials, std::move(newcomers), sequential)};
  }
  std::int64_t left = static_cast<std::int64_t>(repeats) * static_cast<std::int64_t>(trials.size());
  std::size_t fewest = trials.front().size();
  for (const Repeats& trial : trials) {
    left -= static_cast<std::int64_t>(trial.size());
    fewest = std::min(fewest, trial.size());
  }
  if (left <= 0) return {};
  const auto room = static_cast<std::size_t>(left);

  std::vector<std::size_t> tied = not_told_apart(trials);
  if (!tied.empty() && sequential && std::ranges::count(tied, *sequential) == 0) {
    tied.insert(tied.begin(), *sequential);
  }
  std::erase_if(tied, [&](std::size_t i) {
    return trials[i].size() >= 2 * static_cast<std::size_t>(repeats);
  });
  if (!tied.empty() && tied.size() <= room) return {number, std::move(tied)};

  if (fewest >= static_cast<std::size_t>(repeats)) return {};
  Round rest{number, those_below(trials, fewest + 1)};
  if (rest.trials.size() > room) rest.trials.resize(room);
  return rest;
}

}  // namespace tuner
