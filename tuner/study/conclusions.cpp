#include "tuner/study/conclusions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "db/load.h"
#include "db/planned_by_refinement.h"
#include "db/store.h"
#include "db/transaction.h"
#include "tuner/compare/compared_trials.h"
#include "tuner/study/prediction_quality.h"
#include "tuner/study/training_job.h"

namespace tuner {
namespace {

/// The finished trials. Their measured_s is what the comparison says.
struct Finished : ComparedTrials {
  std::vector<std::string> names;  ///< the planner, with parameters where it has several trials
  /// What speed-ups are against: sequential or, where that is not there, the fastest.
  std::size_t against = 0;
  /// The places of those that were planned before any refinement. First predictions are theirs: one
  /// set of costs made them all.
  std::vector<std::size_t> planned_first;
};

Finished finished_trials(const db::Connection& connection, std::int64_t study_id) {
  Finished all{
      compared_trials(connection, study_id,
                      [](const db::Trial& trial) { return trial.predicted_s.has_value(); }),
      {},
      0,
      {}};
  all.against = all.sequential.value_or(all.comparison.fastest);
  std::map<std::string, int> count;
  for (const db::Trial& trial : all.trials) ++count[trial.planner];
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    db::Trial& trial = all.trials[i];
    trial.measured_s = all.comparison.seconds[i];
    all.names.push_back(count[trial.planner] == 1
                            ? trial.planner
                            : fmt::format("{} {}", trial.planner, trial.parameters_json));
    if (!db::is_planned_by_refinement(trial)) all.planned_first.push_back(i);
  }
  return all;
}

std::string names_of_tied(const Finished& all, std::size_t trial) {
  std::vector<std::string> names;
  for (const std::size_t i : tied_with(all.comparison, trial)) names.push_back(all.names[i]);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string percent(double share) { return db::format_cell("prediction_error", share); }

/// Of the trials that no refinement planned.
std::vector<PredictedTrial> first_predictions(const Finished& all) {
  std::vector<PredictedTrial> first;
  for (const std::size_t i : all.planned_first) {
    const db::Trial& trial = all.trials[i];
    first.push_back({trial.first_predicted_s ? *trial.first_predicted_s : *trial.predicted_s,
                     *trial.measured_s,
                     {}});
  }
  return first;
}

std::string fastest_in_words(const Finished& all) {
  const std::size_t best = all.comparison.fastest;
  std::string text = fmt::format("fastest: {}", all.names[best]);
  if (best != all.against) {
    text += fmt::format(", {:.2f} times as fast as {}", all.comparison.speedups[best],
                        all.names[all.against]);
    if (const auto range = interval(all.comparison, best, all.against)) {
      text += fmt::format(" (95%: {:.2f} to {:.2f})", range->least, range->most);
    }
  }
  if (all.comparison.schedules[best].size() < 2) {
    return text + "; one repeat tells no trials apart: --repeats 3 or more";
  }
  const std::string tied = names_of_tied(all, best);
  return fmt::format("{}, tied with {}", text, tied.empty() ? "none" : tied);
}

db::PredictionQuality quality_of_all(const Finished& all,
                                     const std::vector<PredictedTrial>& first) {
  db::PredictionQuality quality = quality_of(first, [&](std::size_t a, std::size_t b) {
    return told_apart(all.comparison, all.planned_first[a], all.planned_first[b]);
  });
  std::vector<PredictedTrial> newest;
  for (const db::Trial& trial : all.trials) {
    newest.push_back({*trial.predicted_s, *trial.measured_s, trial.predicted_deviation_s});
  }
  quality.within_deviation = share_within_deviation(newest);
  return quality;
}

/// False where the repeats do not tell the trial that is predicted to be best from the fastest one.
bool regret_is_told(const Finished& all, const std::vector<PredictedTrial>& first) {
  if (first.empty()) return true;
  const auto place_of = [&](auto least) {
    return all.planned_first[static_cast<std::size_t>(least - first.begin())];
  };
  const std::size_t chosen =
      place_of(std::ranges::min_element(first, {}, &PredictedTrial::predicted_s));
  const std::size_t best =
      place_of(std::ranges::min_element(first, {}, &PredictedTrial::measured_s));
  return chosen == best || told_apart(all.comparison, chosen, best);
}

std::string quality_in_words(const db::PredictionQuality& quality, bool regret_is_told) {
  std::string text =
      fmt::format("predictions of {} trial{}: mean error {}, worst {}, common to all {}",
                  quality.trials, quality.trials == 1 ? "" : "s", percent(quality.mean_error),
                  percent(quality.worst_error), percent(quality.common_error));
  if (quality.common_share) {
    text += fmt::format(" ({} of the square error)", percent(*quality.common_share));
  }
  if (quality.kendall_tau) {
    text += fmt::format("; Kendall's tau of the order {:.2f}", *quality.kendall_tau);
  }
  if (quality.kendall_tau_told_apart) {
    text += fmt::format(", of pairs told apart {:.2f}", *quality.kendall_tau_told_apart);
  }
  if (quality.regret) {
    text += fmt::format("; regret of choosing by prediction {}{}", percent(*quality.regret),
                        regret_is_told ? "" : ", which the repeats do not tell from none");
  }
  if (quality.within_deviation) {
    text +=
        fmt::format("; newest predictions of all trials within one deviation: {} (68% expected)",
                    percent(*quality.within_deviation));
  }
  return text;
}

}  // namespace

std::vector<std::string> store_conclusions(db::Connection& connection, std::int64_t study_id) {
  const Finished all = finished_trials(connection, study_id);
  if (all.trials.empty()) return {};
  const std::vector<PredictedTrial> first = first_predictions(all);
  db::PredictionQuality quality = quality_of_all(all, first);
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
  std::vector<std::string> lines;
  if (all.trials.size() > 1) lines.push_back(fastest_in_words(all));
  lines.push_back(quality_in_words(quality, regret_is_told(all, first)));
  return lines;
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
