#include "tuner/study/conclusions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/planned_by_refinement.h"
#include "db/store.h"
#include "db/transaction.h"
#include "tuner/study/measured_turns.h"
#include "tuner/study/prediction_quality.h"
#include "tuner/study/ties.h"

namespace tuner {
namespace {

/// The finished trials, and the same in other words; all of one length.
struct Finished {
  std::vector<db::Trial> trials;
  std::vector<std::string> names;  ///< the planner, with parameters where it has several trials
  std::vector<Repeats> repeats;
  Differences differences;
  std::vector<PredictedTrial> first, newest;
  std::vector<double> comparable_s;  ///< of all repeats together (ties.h)
  std::size_t fastest = 0;
  /// The places of those that were planned before any refinement. First predictions are theirs: one
  /// set of costs made them all.
  std::vector<std::size_t> planned_first;
};

Finished finished_trials(const db::Connection& connection, std::int64_t study_id) {
  Finished all;
  std::map<std::string, int> count;
  std::vector<Turns> turns;
  for (auto& [trial, measured] : measured_trials(connection, study_id)) {
    if (!trial.predicted_s || !(trial.measured_s.value_or(0) > 0)) continue;
    ++count[trial.planner];
    turns.push_back(std::move(measured));
    trial.measured_s = median_s(turns.back());  // where repeats were added since it was stored
    all.newest.push_back({*trial.predicted_s, *trial.measured_s, trial.predicted_deviation_s});
    all.first.push_back(all.newest.back());
    if (trial.first_predicted_s) all.first.back().predicted_s = *trial.first_predicted_s;
    all.trials.push_back(std::move(trial));
  }
  all.repeats = repeats_of(turns);
  all.differences = differences_of(all.repeats);
  if (!all.trials.empty()) {
    const auto sequential = std::ranges::find(all.trials, db::kSequential, &db::Trial::planner);
    const std::size_t reference = sequential == all.trials.end()
                                      ? fastest(all.repeats)
                                      : static_cast<std::size_t>(sequential - all.trials.begin());
    all.comparable_s = comparable_seconds(turns, reference);
    all.fastest = static_cast<std::size_t>(std::ranges::min_element(all.comparable_s) -
                                           all.comparable_s.begin());
  }
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    if (!db::is_planned_by_refinement(all.trials[i])) all.planned_first.push_back(i);
  }
  for (const db::Trial& trial : all.trials) {
    all.names.push_back(count[trial.planner] == 1
                            ? trial.planner
                            : fmt::format("{} {}", trial.planner, trial.parameters_json));
  }
  return all;
}

std::vector<std::string> names_of(const Finished& all, const std::vector<std::size_t>& places) {
  std::vector<std::string> names;
  for (const std::size_t i : places) names.push_back(all.names[i]);
  return names;
}

std::string percent(double share) { return db::format_cell("prediction_error", share); }

std::string fastest_in_words(const Finished& all,
                             const std::vector<std::vector<std::size_t>>& tied) {
  const std::size_t best = all.fastest;
  const std::optional<Noise>& noise = all.differences.noise;
  if (!noise) {
    return fmt::format("fastest: {}; one repeat tells no trials apart: --repeats 3 or more",
                       all.names[best]);
  }
  double variance = 0;  // the largest of a difference from the fastest
  for (const double of_difference : all.differences.variance[best]) {
    if (std::isfinite(of_difference)) variance = std::max(variance, of_difference);
  }
  const std::string least =
      fmt::format("repeats of {} tell differences of {} apart", all.names[best],
                  percent(least_difference(*noise, variance)));
  if (tied[best].empty()) {
    return fmt::format("fastest: {}, tied with none; {}", all.names[best], least);
  }
  return fmt::format("fastest: {}, tied with {}; {}", all.names[best],
                     fmt::join(names_of(all, tied[best]), ", "), least);
}

/// Of the trials whose slowdown is known.
void judge_slowed(const Finished& all, db::PredictionQuality& quality) {
  std::vector<double> slowdowns;
  std::vector<PredictedTrial> slowed;
  for (const db::Trial& trial : all.trials) {
    if (!trial.compute_slowdown || !trial.predicted_slowed_s) continue;
    slowdowns.push_back(*trial.compute_slowdown);
    slowed.push_back({*trial.predicted_slowed_s, *trial.measured_s, {}});
  }
  if (slowed.empty()) return;
  const std::vector<double> errors = relative_errors(slowed);
  quality.compute_slowdown = db::median(slowdowns);
  quality.mean_slowed_error = mean_size(errors);
  quality.worst_slowed_error = worst_of(errors);
}

db::PredictionQuality quality_of(const Finished& all) {
  std::vector<PredictedTrial> first, compared;
  for (const std::size_t i : all.planned_first) {
    first.push_back(all.first[i]);
    compared.push_back(all.first[i]);
    compared.back().measured_s = all.comparable_s[i];
  }
  const std::vector<double> errors = relative_errors(first);
  db::PredictionQuality quality;
  quality.trials = static_cast<int>(errors.size());
  quality.mean_error = mean_size(errors);
  quality.worst_error = worst_of(errors);
  quality.common_error = common_error(errors);
  quality.common_share = common_share(errors);
  quality.kendall_tau = kendall_tau(compared);
  quality.kendall_tau_told_apart = kendall_tau(compared, [&](std::size_t a, std::size_t b) {
    return told_apart(all.differences, all.planned_first[a], all.planned_first[b]);
  });
  quality.regret = regret(compared);
  quality.within_deviation = share_within_deviation(all.newest);
  judge_slowed(all, quality);
  return quality;
}

/// False where the repeats do not tell the trial that is predicted to be best from the fastest one.
bool regret_is_told(const Finished& all) {
  const std::size_t chosen = *std::ranges::min_element(
      all.planned_first, {}, [&](std::size_t i) { return all.first[i].predicted_s; });
  const std::size_t best = *std::ranges::min_element(
      all.planned_first, {}, [&](std::size_t i) { return all.comparable_s[i]; });
  return chosen == best || told_apart(all.differences, chosen, best);
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

/// Where it is known.
std::string slowdown_in_words(const db::PredictionQuality& quality) {
  return fmt::format(
      "computation took {:.2f} times as long in the trials as in the profile, on the rank that was "
      "slowed most; predicted again for ranks as fast as in the trials: mean error {}, worst {}",
      *quality.compute_slowdown, percent(*quality.mean_slowed_error),
      percent(*quality.worst_slowed_error));
}

/// Where the machine was not as fast in both trials of a speed-up: in words for the fastest trial,
/// and how many others there are. Else empty.
std::string paces_in_words(const Finished& all,
                           const std::map<std::int64_t, db::TrialFigures>& figures) {
  const auto pace = [&](std::size_t i) { return db::pace_text(figures.at(all.trials[i].id)); };
  std::size_t others = 0;
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    if (i != all.fastest && !pace(i).empty()) ++others;
  }
  std::string text;
  if (const std::string own = pace(all.fastest); !own.empty()) {
    const double speedup = figures.at(all.trials[all.fastest].id).speedup.value_or(1);
    text = fmt::format("speed-up of {}, {:.2f}x: {}", all.names[all.fastest], speedup, own);
  }
  if (others == 0) return text;
  const std::string count =
      fmt::format("{} {}speed-up{} {} of machines that were not equally fast (pace)", others,
                  text.empty() ? "" : "other ", others == 1 ? "" : "s", others == 1 ? "is" : "are");
  return text.empty() ? count : fmt::format("{}; {}", text, count);
}

}  // namespace

std::vector<std::string> store_conclusions(db::Connection& connection, std::int64_t study_id) {
  const Finished all = finished_trials(connection, study_id);
  if (all.trials.empty()) return {};
  const auto tied = ties(all.repeats, all.differences);
  db::PredictionQuality quality = quality_of(all);
  quality.study_id = study_id;
  db::Transaction transaction(connection, "store what a study shows");
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    db::set_comparison(connection, all.trials[i].id, *all.trials[i].measured_s, all.comparable_s[i],
                       fmt::format("{}", fmt::join(names_of(all, tied[i]), ", ")));
  }
  db::insert(connection, quality);
  transaction.commit();
  std::vector<std::string> lines;
  if (all.trials.size() > 1) lines.push_back(fastest_in_words(all, tied));
  const std::string paces = paces_in_words(all, db::load_trial_figures(connection));
  if (!paces.empty()) lines.push_back(paces);
  lines.push_back(quality_in_words(quality, regret_is_told(all)));
  if (quality.compute_slowdown) lines.push_back(slowdown_in_words(quality));
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

}  // namespace tuner
