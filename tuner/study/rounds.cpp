#include "tuner/study/rounds.h"

#include <algorithm>

#include "tuner/compare/comparison.h"

namespace tuner {
namespace {

constexpr std::size_t kUntilNoiseIsKnown = 2;

/// What other trials met under an earlier number was another training, of another hour or day.
int next_number(const std::vector<Turns>& trials) {
  int newest = 0;
  for (const Turns& trial : trials) {
    if (!trial.empty()) newest = std::max(newest, trial.rbegin()->first);
  }
  return newest + 1;
}

/// Those that have less than `most` repeats.
std::vector<std::size_t> those_below(const std::vector<Turns>& trials, std::size_t most) {
  std::vector<std::size_t> below;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].size() < most) below.push_back(i);
  }
  return below;
}

void add_missing(std::vector<std::size_t>& round, std::size_t trial) {
  if (std::ranges::count(round, trial) == 0) round.push_back(trial);
}

/// The fastest and those tied with it that may be trained once more; empty where none is tied.
std::vector<std::size_t> tied_best(const ComparedSchedules& all, std::size_t most) {
  std::vector<std::size_t> tied = tied_with(all, all.fastest);
  if (!tied.empty()) tied.push_back(all.fastest);
  std::erase_if(tied, [&](std::size_t i) { return all.schedules[i].size() >= most; });
  return tied;
}

}  // namespace

Round next_round(const std::vector<Turns>& trials, std::optional<std::size_t> sequential,
                 int repeats) {
  const auto asked = static_cast<std::size_t>(repeats);
  if (trials.size() < 2) sequential.reset();
  const int number = next_number(trials);
  std::vector<std::size_t> newcomers = those_below(trials, std::min(asked, kUntilNoiseIsKnown));
  if (newcomers.size() == trials.size()) return {number, std::move(newcomers)};
  const ComparedSchedules all = compare(trials, sequential);
  const std::size_t reference = sequential.value_or(all.reference);
  if (!newcomers.empty()) {
    add_missing(newcomers, reference);
    add_missing(newcomers, all.fastest);
    return {number, std::move(newcomers)};
  }

  const auto counts = [&](std::size_t i) { return i != sequential; };
  std::size_t run = 0, fewest = asked;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!counts(i)) continue;
    run += trials[i].size();
    fewest = std::min(fewest, trials[i].size());
  }
  const std::size_t most = asked * (trials.size() - (sequential ? 1 : 0));
  /// With the reference; empty where that is more than is left.
  const auto round_of = [&](std::vector<std::size_t> chosen) -> Round {
    if (!chosen.empty()) add_missing(chosen, reference);
    std::ranges::sort(chosen);
    const auto runs = static_cast<std::size_t>(std::ranges::count_if(chosen, counts));
    return {number, runs == 0 || run + runs > most ? std::vector<std::size_t>{} : chosen};
  };
  if (Round round = round_of(tied_best(all, 2 * asked)); !round.trials.empty()) return round;
  if (fewest >= asked) return {};
  std::vector<std::size_t> rest = those_below(trials, fewest + 1);
  std::erase_if(rest, [&](std::size_t i) { return !counts(i); });
  while (!rest.empty()) {
    if (Round round = round_of(rest); !round.trials.empty()) return round;
    rest.pop_back();
  }
  return {};
}

}  // namespace tuner
