#include "tuner/study/ties.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "db/console/statistics.h"

namespace tuner {
namespace {

std::map<int, double> effects_of_repeats(std::span<const Repeats> trials) {
  std::vector<double> of_trial(trials.size());
  std::map<int, double> of_repeat;
  for (const Repeats& trial : trials) {
    for (const auto& [repeat, value] : trial) of_repeat[repeat] = 0;
  }
  double change = 1;
  for (int round = 0; round < 100 && change > 1e-12; ++round) {
    change = 0;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].empty()) continue;
      std::vector<double> left;
      for (const auto& [repeat, value] : trials[i]) {
        left.push_back(std::log(value) - of_repeat[repeat]);
      }
      const double middle = db::median(std::move(left));
      change = std::max(change, std::abs(middle - of_trial[i]));
      of_trial[i] = middle;
    }
    for (auto& [repeat, effect] : of_repeat) {
      std::vector<double> left;
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto found = trials[i].find(repeat);
        if (found != trials[i].end()) left.push_back(std::log(found->second) - of_trial[i]);
      }
      effect = db::median(std::move(left));
    }
  }
  return of_repeat;
}

/// Numbers of repeats between which a chain of common repeats leads, together.
std::vector<std::set<int>> connected_repeats(std::span<const Repeats> trials) {
  std::vector<std::set<int>> groups;
  for (const Repeats& trial : trials) {
    if (trial.empty()) continue;
    std::set<int> joined;
    for (const auto& [number, value] : trial) joined.insert(number);
    std::erase_if(groups, [&](const std::set<int>& group) {
      const bool meets =
          std::ranges::any_of(group, [&](int number) { return joined.contains(number); });
      if (meets) joined.insert(group.begin(), group.end());
      return meets;
    });
    groups.push_back(std::move(joined));
  }
  return groups;
}

}  // namespace

RepeatTerms repeat_terms(std::span<const Repeats> trials) {
  const std::map<int, double> of_repeat = effects_of_repeats(trials);
  RepeatTerms terms;
  for (const std::set<int>& numbers : connected_repeats(trials)) {
    std::vector<double>& of_group = terms.emplace_back();
    for (const int number : numbers) of_group.push_back(of_repeat.at(number));
  }
  return terms;
}

}  // namespace tuner
