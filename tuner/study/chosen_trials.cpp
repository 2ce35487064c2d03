#include "tuner/study/chosen_trials.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "tuner/study/study.h"

namespace tuner {
namespace {

/// The trial that was measured fastest; none where no trial was measured.
std::optional<db::Trial> fastest_of(const std::vector<db::Trial>& trials) {
  const auto seconds = [](const db::Trial& trial) {
    constexpr double never = std::numeric_limits<double>::infinity();
    return trial.comparable_s.value_or(trial.measured_s.value_or(never));
  };
  const auto best = std::ranges::min_element(trials, {}, seconds);
  if (best == trials.end() || !best->measured_s) return std::nullopt;
  return *best;
}

}  // namespace

std::vector<std::string> planners_of(const db::Trial& trial) {
  std::vector<std::string> names{trial.planner};
  std::istringstream others(trial.also_planned_by);
  for (std::string name; std::getline(others >> std::ws, name, ',');) names.push_back(name);
  return names;
}

std::vector<db::Trial> chosen_trials(std::vector<db::Trial> trials, int top) {
  std::erase_if(trials, [](const db::Trial& trial) {
    return trial.status != "planned" && trial.status != "done";
  });
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    constexpr double never = std::numeric_limits<double>::infinity();
    return a.predicted_s.value_or(never) < b.predicted_s.value_or(never);
  });
  const std::optional<db::Trial> best = fastest_of(trials);
  if (top == kTopOfEachPlanner) {
    std::set<std::string> seen;
    std::erase_if(trials, [&](const db::Trial& trial) {
      bool is_first = false;
      for (const std::string& name : planners_of(trial)) is_first |= seen.insert(name).second;
      return !is_first;
    });
  }
  std::stable_partition(trials.begin(), trials.end(),
                        [](const db::Trial& trial) { return trial.planner == db::kSequential; });
  if (top != kTopOfEachPlanner && top != kTopAll && trials.size() > static_cast<std::size_t>(top)) {
    trials.resize(static_cast<std::size_t>(top) + 1);
  }
  if (best && std::ranges::count(trials, best->id, &db::Trial::id) == 0) trials.push_back(*best);
  return trials;
}

}  // namespace tuner
