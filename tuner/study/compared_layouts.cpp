#include "tuner/study/compared_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "db/study_runs.h"
#include "moe/rows/layout.h"
#include "tuner/study/finished_trials.h"

namespace tuner {
namespace {

/// [i]: the place of the i-th time, from 1.
std::vector<int> places_of(const std::vector<double>& times_s) {
  std::vector<std::size_t> order(times_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times_s[i]; });
  std::vector<int> places(times_s.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<int>(i) + 1;
  return places;
}

/// "2 of 3 pairs of layouts that repeats tell apart are in the predicted order", each by the trial
/// that was measured fastest; "" of a single layout.
std::string order_of_layouts(const FinishedTrials& all) {
  std::map<std::int64_t, std::size_t> fastest;  // of a study
  std::map<std::int64_t, double> predicted_s;   // the least of a study, by first predictions
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    const db::Trial& trial = all.trials[i];
    const auto best = fastest.try_emplace(trial.study_id, i).first;
    if (*trial.measured_s < *all.trials[best->second].measured_s) best->second = i;
  }
  for (const std::size_t i : all.planned_first) {
    const db::Trial& trial = all.trials[i];
    const auto least = predicted_s.try_emplace(trial.study_id, first_predicted_s(trial)).first;
    least->second = std::min(least->second, first_predicted_s(trial));
  }
  int told = 0, ordered = 0;
  for (auto a = fastest.begin(); a != fastest.end(); ++a) {
    for (auto b = std::next(a); b != fastest.end(); ++b) {
      if (!told_apart(all.comparison, a->second, b->second)) continue;
      ++told;
      const double measured = *all.trials[a->second].measured_s - *all.trials[b->second].measured_s;
      // Of equal predictions neither is the order.
      ordered += measured * (predicted_s[a->first] - predicted_s[b->first]) > 0;
    }
  }
  if (fastest.size() < 2) return "";
  const std::size_t pairs = fastest.size() * (fastest.size() - 1) / 2;
  return fmt::format(
      "layouts by their fastest trials: repeats tell {} of {} pairs apart, {} of them are in the "
      "predicted order",
      told, pairs, ordered);
}

std::string best_of_layouts(const FinishedTrials& all) {
  if (all.planned_first.empty()) return "";
  const std::size_t chosen = *std::ranges::min_element(
      all.planned_first, {}, [&](std::size_t i) { return first_predicted_s(all.trials[i]); });
  const std::size_t best = *std::ranges::min_element(
      all.planned_first, {}, [&](std::size_t i) { return *all.trials[i].measured_s; });
  if (chosen == best) {
    return fmt::format("the predicted best is the measured best: {}", all.names[best]);
  }
  return fmt::format(
      "the predicted best, {}, takes {} longer than the measured best, {}{}", all.names[chosen],
      db::format_cell("prediction_error",
                      *all.trials[chosen].measured_s / *all.trials[best].measured_s - 1),
      all.names[best],
      told_apart(all.comparison, chosen, best) ? "" : ", which the repeats do not tell from none");
}

/// The largest arena that a rank of the trial's runs planned, and took; 0 where none is stored.
std::int64_t arena_bytes(const db::Connection& connection, const db::Trial& trial) {
  std::int64_t most = 0;
  for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
    if (!repeat.run_id) continue;
    for (const db::RunRank& rank : db::load_run_ranks(connection, *repeat.run_id)) {
      most = std::max(most, rank.predicted_peak_bytes);
    }
  }
  return most;
}

/// "the arena of the fullest rank is predicted to the byte in 5 of 6 trials (farthest off: ep=4 joint
/// by -1.2%); ranks wrote to 95.9% to 100.0% of it"
std::string memory_in_words(const db::Connection& connection, const FinishedTrials& all) {
  int known = 0, exact = 0;
  double worst = 0, least = 1, most = 0;
  std::string where;
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    const db::Trial& trial = all.trials[i];
    const std::int64_t arena = arena_bytes(connection, trial);
    if (!trial.predicted_peak_bytes || !trial.measured_peak_bytes || arena == 0) continue;
    ++known;
    exact += *trial.predicted_peak_bytes == arena;
    const auto bytes = static_cast<double>(arena);
    const double error = static_cast<double>(*trial.predicted_peak_bytes) / bytes - 1;
    const double written = static_cast<double>(*trial.measured_peak_bytes) / bytes;
    least = std::min(least, written);
    most = std::max(most, written);
    if (std::abs(error) <= std::abs(worst)) continue;
    worst = error;
    where = fmt::format(" (farthest off: {} by {:+.2g}%)", all.names[i], 100 * worst);
  }
  if (known == 0) return "";
  return fmt::format(
      "the arena of the fullest rank is predicted to the byte in {} of {} trials{}; ranks wrote to "
      "{:.1f}% to {:.1f}% of it",
      exact, known, where, 100 * least, 100 * most);
}

/// "costs were profiled in ep=4 (12 runs), dp=2,ep=1,tp=2 (6)": the layouts of all profile runs.
std::string profiled_in_words(const db::Connection& connection,
                              std::span<const StudyOfLayout> studies) {
  std::set<std::int64_t> profiled;
  for (const db::Study& stored : db::load_studies(connection)) {
    if (std::ranges::count(studies, stored.id, &StudyOfLayout::study_id) == 0) continue;
    const std::vector<std::int64_t> runs = db::profile_runs(stored).value();
    profiled.insert(runs.begin(), runs.end());
  }
  std::vector<std::pair<std::string, int>> counts;  // in the order of the runs
  for (const std::int64_t run : profiled) {
    const std::string layout = db::load_run(connection, run).layout;
    const auto known = std::ranges::find(counts, layout, &std::pair<std::string, int>::first);
    if (known == counts.end()) {
      counts.emplace_back(layout, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [layout, runs] : counts) {
    texts.push_back(fmt::format("{} ({} run{})", moe::short_text(moe::layout_from_text(layout)),
                                runs, runs == 1 ? "" : "s"));
  }
  return texts.empty() ? ""
                       : fmt::format("costs were profiled in {} of {} layouts: {}", texts.size(),
                                     studies.size(), fmt::join(texts, ", "));
}

/// Those of the studies that are not among the finished ones.
void add_others(const db::Connection& connection, std::span<const StudyOfLayout> studies,
                std::vector<LayoutTrial>& trials) {
  const auto finished = trials.size();
  for (const StudyOfLayout& study : studies) {
    for (db::Trial& trial : db::load_trials(connection, study.study_id)) {
      const auto is_it = [&](const LayoutTrial& one) { return one.trial.id == trial.id; };
      if (std::any_of(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(finished),
                      is_it)) {
        continue;
      }
      LayoutTrial& other = trials.emplace_back();
      other.layout = study.layout;
      other.trial = std::move(trial);
    }
  }
}

}  // namespace

ComparedLayouts compared_layouts(const db::Connection& connection,
                                 std::span<const StudyOfLayout> studies) {
  std::vector<std::int64_t> ids;
  std::map<std::int64_t, std::string> layout_of;
  for (const StudyOfLayout& study : studies) {
    ids.push_back(study.study_id);
    layout_of[study.study_id] = study.layout;
  }
  const FinishedTrials all = finished_trials(
      connection, ids, [&](const db::Trial& trial) { return layout_of[trial.study_id] + ' '; });
  ComparedLayouts result;
  std::vector<double> measured_s, predicted_s;
  for (const db::Trial& trial : all.trials) {
    measured_s.push_back(*trial.measured_s);
    predicted_s.push_back(first_predicted_s(trial));
  }
  const std::vector<int> places = places_of(measured_s), predicted = places_of(predicted_s);
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    const db::Trial& trial = all.trials[i];
    result.trials.push_back({layout_of[trial.study_id], trial, places[i], predicted[i],
                             all.comparison.speedups[i] / all.comparison.speedups[all.against],
                             names_of_tied(all, i)});
  }
  add_others(connection, studies, result.trials);
  std::ranges::stable_sort(result.trials, {}, [](const LayoutTrial& one) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return std::pair(one.place.value_or(std::numeric_limits<int>::max()),
                     one.trial.predicted_s.value_or(kNever));
  });
  if (all.trials.empty()) return result;
  result.lines = in_words(all, quality_of(all));
  for (std::string text :
       {best_of_layouts(all), order_of_layouts(all), memory_in_words(connection, all),
        profiled_in_words(connection, studies)}) {
    if (!text.empty()) result.lines.push_back(std::move(text));
  }
  return result;
}

}  // namespace tuner
