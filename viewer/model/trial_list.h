#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/load.h"

/// Which trials are listed, in which order, and what their figures mean beside each other. No
/// drawing here.
namespace viewer {

struct TrialFilter {
  std::string words;          ///< all of them must be found in a trial's texts
  bool hides_planned = true;  ///< leaves out what was only predicted
  std::string study;          ///< empty for all
};

/// The trials that the filter lets through, in the catalog's order.
std::vector<const TrialRow*> listed_trials(const Catalog& catalog, const TrialFilter& filter);

/// Whether a trial of the study was more than planned; of any study where `study` is empty.
bool has_trained(const Catalog& catalog, const std::string& study);

/// How many trials are not listed only because they were not trained.
std::size_t hidden_planned(const Catalog& catalog, const TrialFilter& filter);

/// "3 trials were only planned and are hidden"; empty for none.
std::string hidden_text(std::size_t hidden);

/// The figures that trials can be sorted by.
enum class TrialOrder {
  study,
  planner,
  status,
  paper,
  predicted,
  measured,
  error,
  bound,
  speedup,
  peak
};

/// Sorts by one figure; trials without it come last in both directions.
void sort_trials(std::vector<const TrialRow*>& trials, TrialOrder order, bool descending);

/// The prediction of before anything was fitted to the trials, which their errors are of.
std::optional<double> first_prediction_of(const db::Trial& trial);

/// (predicted - measured) / measured of the first prediction; none where either is missing.
std::optional<double> prediction_error_of(const db::Trial& trial);

/// That error: "-7.7%", or nothing.
std::string prediction_error_text(const db::Trial& trial);

/// Says what the error is of, where that is not the prediction that stands beside it; else nothing.
std::string error_explanation(const db::Trial& trial);

/// The time and the peak memory of a trial: measured, else predicted.
struct TrialCost {
  double seconds = 0;
  double bytes = 0;
  bool measured = false;
};
std::optional<TrialCost> cost_of(const TrialRow& trial);

/// The trials that no other one beats in time without taking more memory: fastest first.
std::vector<const TrialRow*> pareto_front(const std::vector<const TrialRow*>& trials);

/// The studies of these trials, in their order. Trials of one are compared with each other.
std::vector<std::string> studies_of(const std::vector<const TrialRow*>& trials);

/// Which of these trials of one study is the fastest, against what, how far from its bound, and from
/// which others the repeats do not tell it. Says so where the study has measured others. Empty where
/// none was measured, and for several studies.
std::string verdict_text(const Catalog& catalog, const std::vector<const TrialRow*>& trials);

/// The `moe-train` line that trains a trial's schedule again, with the model, ranks and layout of
/// its study. The schedule is read from `schedule_file`.
std::string train_line(const TrialRow& trial, const db::Study& study,
                       const std::string& schedule_file);

}  // namespace viewer
