#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// The mean of the errors' absolute values; 0 where there is none.
double mean_size(std::span<const double> errors);
/// The error of largest absolute value, with its sign; 0 where there is none.
double worst_of(std::span<const double> errors);

/// "within 2.1% (median; worst 4.0%)", by the absolute values of at least one error.
std::string within_in_words(std::span<const double> errors);

/// The mean of the errors with their signs. It is common to all trials, as when the machine
/// computes slower than in the profile. It does not change which trial is predicted to be best.
double common_error(std::span<const double> errors);
/// The share of the mean square error that the common error makes, from 0 to 1; none where every
/// error is 0.
std::optional<double> common_share(std::span<const double> errors);

/// Kendall's tau of the predicted and the measured order: pairs in the same order minus pairs in
/// the opposite one, over all pairs that count. A pair of equal times is in neither. 1 is the same
/// order, -1 the opposite one; none where there is no pair. [Kendall 1938, tau a]
/// `counts` tells which pairs of trials count, by index.
std::optional<double> kendall_tau(
    std::span<const PredictedTrial> trials,
    const std::function<bool(std::size_t, std::size_t)>& counts = [](std::size_t, std::size_t) {
      return true;
    });

/// How much longer the trial predicted to be fastest takes than the fastest trial, as a share of
/// the latter; none where there is no trial.
std::optional<double> regret(std::span<const PredictedTrial> trials);

/// The share of the trials whose measured time is within one deviation of the prediction: 0.68 is
/// expected. None where no trial has a deviation.
std::optional<double> share_within_deviation(std::span<const PredictedTrial> trials);

}  // namespace tuner
