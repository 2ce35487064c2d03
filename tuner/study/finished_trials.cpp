#include "tuner/study/finished_trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "db/console/format_rows.h"
#include "db/planned_by_refinement.h"
#include "tuner/study/prediction_quality.h"

namespace tuner {
namespace {

std::string percent(double share) { return db::format_cell("prediction_error", share); }

/// Of the trials that no refinement planned.
std::vector<PredictedTrial> first_predictions(const FinishedTrials& all) {
  std::vector<PredictedTrial> first;
  for (const std::size_t i : all.planned_first) {
    const db::Trial& trial = all.trials[i];
    first.push_back({first_predicted_s(trial), *trial.measured_s, {}});
  }
  return first;
}

std::string fastest_in_words(const FinishedTrials& all) {
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

/// False where the repeats do not tell the trial that is predicted to be best from the fastest one.
bool regret_is_told(const FinishedTrials& all, const std::vector<PredictedTrial>& first) {
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

double first_predicted_s(const db::Trial& trial) {
  return trial.first_predicted_s ? *trial.first_predicted_s : trial.predicted_s.value();
}

FinishedTrials finished_trials(const db::Connection& connection,
                               std::span<const std::int64_t> studies,
                               const std::function<std::string(const db::Trial&)>& prefix) {
  FinishedTrials all{
      compared_trials(connection, studies,
                      [](const db::Trial& trial) { return trial.predicted_s.has_value(); }),
      {},
      0,
      {}};
  all.against = all.sequential.value_or(all.comparison.fastest);
  std::map<std::pair<std::int64_t, std::string>, int> count;
  for (const db::Trial& trial : all.trials) ++count[{trial.study_id, trial.planner}];
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    db::Trial& trial = all.trials[i];
    trial.measured_s = all.comparison.seconds[i];
    all.names.push_back(prefix(trial) + trial.planner);
    if (count[{trial.study_id, trial.planner}] > 1) all.names.back() += ' ' + trial.parameters_json;
    if (!db::is_planned_by_refinement(trial)) all.planned_first.push_back(i);
  }
  return all;
}

std::string names_of_tied(const FinishedTrials& all, std::size_t trial) {
  std::vector<std::string> names;
  for (const std::size_t i : tied_with(all.comparison, trial)) names.push_back(all.names[i]);
  return fmt::format("{}", fmt::join(names, ", "));
}

db::PredictionQuality quality_of(const FinishedTrials& all) {
  const std::vector<PredictedTrial> first = first_predictions(all);
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

std::vector<std::string> in_words(const FinishedTrials& all, const db::PredictionQuality& quality) {
  std::vector<std::string> lines;
  if (all.trials.size() > 1) lines.push_back(fastest_in_words(all));
  lines.push_back(quality_in_words(quality, regret_is_told(all, first_predictions(all))));
  return lines;
}

}  // namespace tuner
