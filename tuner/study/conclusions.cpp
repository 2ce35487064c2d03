#include "tuner/study/conclusions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"
#include "tuner/study/finished_trials.h"
#include "tuner/study/training_job.h"

namespace tuner {

std::vector<std::string> store_conclusions(db::Connection& connection, std::int64_t study_id) {
  const FinishedTrials all = finished_trials(connection, std::span(&study_id, 1));
  if (all.trials.empty()) return {};
  db::PredictionQuality quality = quality_of(all);
  quality.study_id = study_id;
  db::Transaction transaction(connection, "store what a study shows");
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    std::optional<double> least, most;
    if (const auto range = interval(all.comparison, i, all.against)) {
      least = range->least;
      most = range->most;
    }
    db::set_comparison(connection, all.trials[i].id, *all.trials[i].measured_s, least, most,
                       names_of_tied(all, i));
  }
  db::insert(connection, quality);
  transaction.commit();
  return in_words(all, quality);
}

std::string where_nothing_fits(const std::vector<db::Trial>& trials,
                               std::int64_t memory_limit_bytes) {
  const auto infeasible = [](const db::Trial& trial) { return trial.status == "infeasible"; };
  if (trials.empty() || !std::ranges::all_of(trials, infeasible)) return "";
  const db::Trial& leanest = *std::ranges::min_element(
      trials, {}, [](const db::Trial& trial) { return trial.predicted_peak_bytes.value_or(0); });
  return fmt::format(
      "no candidate fits the memory limit of {}: the leanest, {} {}, needs {}: raise "
      "--memory-limit or --most-chunks, or try planners that share buffers, such as mpmoe_pb",
      db::format_cell("bytes", memory_limit_bytes), leanest.planner, leanest.parameters_json,
      db::format_cell("bytes", leanest.predicted_peak_bytes.value_or(0)));
}

std::string why_nothing_compares(const std::vector<db::Trial>& trials) {
  std::map<std::string, int> count;
  for (const db::Trial& trial : trials) ++count[trial.status];
  if (!count.contains("done")) {
    std::vector<std::string> parts;
    for (const auto& [status, of_status] : count) {
      parts.push_back(fmt::format("{} {}", of_status, status));
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
