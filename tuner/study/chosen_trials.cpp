#include "tuner/study/chosen_trials.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "tuner/study/study.h"

namespace tuner {

std::vector<db::Trial> chosen_trials(std::vector<db::Trial> trials, int top) {
  std::erase_if(trials, [](const db::Trial& trial) {
    return trial.status != "planned" && trial.status != "done";
  });
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    constexpr double never = std::numeric_limits<double>::infinity();
    return a.predicted_s.value_or(never) < b.predicted_s.value_or(never);
  });
  if (top == kTopOfEachPlanner) {
    std::set<std::string> seen;
    std::erase_if(trials, [&](const db::Trial& trial) {
      bool is_first = seen.insert(trial.planner).second;
      std::istringstream others(trial.also_planned_by);
      for (std::string name; std::getline(others >> std::ws, name, ',');) {
        is_first |= seen.insert(name).second;
      }
      return !is_first;
    });
  }
  std::stable_partition(trials.begin(), trials.end(),
                        [](const db::Trial& trial) { return trial.planner == db::kSequential; });
  if (top != kTopOfEachPlanner && top != kTopAll && trials.size() > static_cast<std::size_t>(top)) {
    trials.resize(static_cast<std::size_t>(top) + 1);
  }
  return trials;
}

}  // namespace tuner
