#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/compare/compared_trials.h"

namespace tuner {

/// The finished trials of studies that took turns, at least one. Their measured_s is what the
/// comparison says.
struct FinishedTrials : ComparedTrials {
  std::vector<std::string> names;  ///< the planner, with parameters where it has several trials
  /// What speed-ups are against: sequential or, where that is not there, the fastest.
  std::size_t against = 0;
  /// The places of those that were planned before any refinement. First predictions are theirs: one
  /// set of costs made them all.
  std::vector<std::size_t> planned_first;
};
/// `prefix`: of a trial's name.
FinishedTrials finished_trials(
    const db::Connection& connection, std::span<const std::int64_t> studies,
    const std::function<std::string(const db::Trial&)>& prefix = [](const db::Trial&) {
      return std::string();
    });

/// Its prediction from before any refinement. The trial has one.
double first_predicted_s(const db::Trial& trial);

/// The names of those that the repeats do not tell from this one.
std::string names_of_tied(const FinishedTrials& all, std::size_t trial);

/// Of first predictions; only the share within a deviation is of the newest.
db::PredictionQuality quality_of(const FinishedTrials& all);

/// Which is fastest, and how good predictions were; a line each.
std::vector<std::string> in_words(const FinishedTrials& all, const db::PredictionQuality& quality);

}  // namespace tuner
