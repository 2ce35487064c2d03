#include "tuner/study/chosen_trials.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "tuner/study/study.h"

namespace tuner {
namespace {

/// The planner that a trial is named after, and those that came to its schedule too.
std::vector<std::string> planners_of(const db::Trial& trial) {
  std::vector<std::string> names{trial.planner};
  std::istringstream others(trial.also_planned_by);
  for (std::string name; std::getline(others >> std::ws, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

std::vector<db::Trial> chosen_trials(std::vector<db::Trial> trials, int top,
                                     std::optional<std::int64_t> fastest) {
  std::erase_if(trials, [](const db::Trial& trial) {
    return trial.status != "planned" && trial.status != "done";
  });
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    constexpr double never = std::numeric_limits<double>::infinity();
    return a.predicted_s.value_or(never) < b.predicted_s.value_or(never);
  });
  std::vector<db::Trial> best = trials;
  std::erase_if(best, [&](const db::Trial& trial) { return trial.id != fastest; });
  if (top == kTopOfEachPlanner) {
    std::set<std::string> seen;
    std::erase_if(trials, [&](const db::Trial& trial) {
      bool is_first = false;
      for (const std::string& name : planners_of(trial)) is_first |= seen.insert(name).second;
      return !is_first;
    });
  }
  const auto others = std::stable_partition(
      trials.begin(), trials.end(),
      [](const db::Trial& trial) { return trial.planner == db::kSequential; });
  if (top != kTopOfEachPlanner && top != kTopAll && trials.end() - others > top) {
    trials.erase(others + top, trials.end());
  }
  if (!best.empty() && std::ranges::count(trials, *fastest, &db::Trial::id) == 0) {
    trials.push_back(std::move(best.front()));
  }
  return trials;
}

}  // namespace tuner
