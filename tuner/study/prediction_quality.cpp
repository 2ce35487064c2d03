#include "tuner/study/prediction_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "db/console/statistics.h"

namespace tuner {
namespace {

int sign_of(double value) { return (value > 0) - (value < 0); }

std::vector<double> sizes_of(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return sizes;
}

std::optional<double> kendall_tau(std::span<const PredictedTrial> trials,
                                  const std::function<bool(std::size_t, std::size_t)>& counts) {
  int same = 0, all = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!counts(i, j)) continue;
      ++all;
      same += sign_of(trials[i].predicted_s - trials[j].predicted_s) *
              sign_of(trials[i].measured_s - trials[j].measured_s);
    }
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(same) / all;
}

}  // namespace

std::vector<double> relative_errors(std::span<const PredictedTrial> trials) {
  std::vector<double> errors;
  for (const PredictedTrial& trial : trials) {
    errors.push_back((trial.predicted_s - trial.measured_s) / trial.measured_s);
  }
  return errors;
}

std::string within_in_words(std::span<const double> errors) {
  const std::vector<double> sizes = sizes_of(errors);
  return fmt::format("within {:.1f}% (median; worst {:.1f}%)", 100 * db::median(sizes),
                     100 * std::ranges::max(sizes));
}

db::PredictionQuality quality_of(std::span<const PredictedTrial> trials,
                                 const std::function<bool(std::size_t, std::size_t)>& told_apart) {
  db::PredictionQuality quality;
  if (trials.empty()) return quality;
  const std::vector<double> errors = relative_errors(trials);
  const auto size = [](double error) { return std::abs(error); };
  quality.trials = static_cast<int>(errors.size());
  quality.mean_error = db::mean(sizes_of(errors));
  quality.worst_error = *std::ranges::max_element(errors, {}, size);
  quality.common_error = db::mean(errors);
  double squares = 0;
  for (const double error : errors) squares += error * error;
  if (squares > 0) {
    quality.common_share = quality.common_error * quality.common_error * quality.trials / squares;
  }
  quality.kendall_tau = kendall_tau(trials, [](auto...) { return true; });
  quality.kendall_tau_told_apart = kendall_tau(trials, told_apart);
  const auto chosen = std::ranges::min_element(trials, {}, &PredictedTrial::predicted_s);
  const auto best = std::ranges::min_element(trials, {}, &PredictedTrial::measured_s);
  quality.regret = chosen->measured_s / best->measured_s - 1;
  return quality;
}

double own_error(std::span<const PredictedTrial> trials) {
  std::vector<double> logarithms;
  for (const double error : relative_errors(trials)) logarithms.push_back(std::log1p(error));
  const double common = db::mean(logarithms);
  for (double& one : logarithms) one = std::expm1(one - common);
  return db::mean(sizes_of(logarithms));
}

std::optional<double> share_within_deviation(std::span<const PredictedTrial> trials) {
  int within = 0, all = 0;
  for (const PredictedTrial& trial : trials) {
    if (!trial.deviation_s) continue;
    ++all;
    within += std::abs(trial.predicted_s - trial.measured_s) <= *trial.deviation_s;
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(within) / all;
}

}  // namespace tuner
