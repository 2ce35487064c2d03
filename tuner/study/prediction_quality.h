#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/records.h"

/// The quality of a study's predictions, for a person who chooses by them. All are pure functions
/// of predicted and measured times.
namespace tuner {

/// A trial with both figures, in seconds of an iteration. Both are more than 0.
struct PredictedTrial {
  double predicted_s = 0;
  double measured_s = 0;
  std::optional<double> deviation_s;  ///< standard deviation that the prediction expects of itself
};

/// (predicted - measured) / measured of each trial.
std::vector<double> relative_errors(std::span<const PredictedTrial> trials);

/// "within 2.1% (median; worst 4.0%)", by the absolute values of at least one error.
std::string within_in_words(std::span<const double> errors);

/// All figures but within_deviation (db::PredictionQuality). `told_apart`: whether the repeats tell
/// two trials apart, by index. Kendall's tau is of pairs in the same order minus pairs in the
/// opposite one, over all pairs that count. A pair of equal times is in neither.
/// [Kendall 1938, tau a]
db::PredictionQuality quality_of(std::span<const PredictedTrial> trials,
                                 const std::function<bool(std::size_t, std::size_t)>& told_apart);

/// The mean size of the errors without the factor that is common to all trials, which changes no
/// order: of predicted_s / (measured_s exp(m)) - 1, where m is the mean logarithm of predicted over
/// measured.
double own_error(std::span<const PredictedTrial> trials);

/// The share of the trials whose measured time is within one deviation of the prediction: 0.68 is
/// expected. None where no trial has a deviation.
std::optional<double> share_within_deviation(std::span<const PredictedTrial> trials);

}  // namespace tuner
