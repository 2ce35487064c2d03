#include "tuner/study/study_outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tuner/study/training_job.h"

namespace tuner {

std::string why_nothing_compares(const std::vector<db::Trial>& trials) {
  const auto is_measured = [](const db::Trial& trial) { return trial.status == "done"; };
  if (std::ranges::none_of(trials, is_measured)) {
    std::map<std::string, int> count;
    for (const db::Trial& trial : trials) ++count[trial.status];
    std::vector<std::string> parts;
    for (const auto& [status, trials_of] : count) {
      parts.push_back(fmt::format("{} {}", trials_of, status));
    }
    return fmt::format("no trial was measured: {}",
                       parts.empty() ? "there is none" : fmt::format("{}", fmt::join(parts, ", ")));
  }
  for (const db::Trial& trial : trials) {
    const bool failed = trial.failure == "hung" || trial.failure == "crashed" ||
                        trial.failure == "failed" || is_no_verdict(trial.failure);
    if (trial.planner == db::kSequential && failed) {
      return fmt::format("the sequential schedule, which all others are compared with, {}: {}",
                         trial.failure, trial.error);
    }
  }
  return "";
}

}  // namespace tuner
