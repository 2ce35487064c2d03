#include "tuner/study/prediction_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "db/console/statistics.h"

namespace tuner {
namespace {

int sign_of(double value) { return (value > 0) - (value < 0); }

}  // namespace

std::vector<double> relative_errors(std::span<const PredictedTrial> trials) {
  std::vector<double> errors;
  for (const PredictedTrial& trial : trials) {
    errors.push_back((trial.predicted_s - trial.measured_s) / trial.measured_s);
  }
  return errors;
}

double mean_size(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return sizes.empty() ? 0 : db::mean(sizes);
}

double worst_of(std::span<const double> errors) {
  const auto worst =
      std::ranges::max_element(errors, {}, [](double error) { return std::abs(error); });
  return worst == errors.end() ? 0 : *worst;
}

std::string within_in_words(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return fmt::format("within {:.1f}% (median; worst {:.1f}%)", 100 * db::median(sizes),
                     100 * std::ranges::max(sizes));
}

double common_error(std::span<const double> errors) {
  return errors.empty() ? 0 : db::mean(errors);
}

std::optional<double> common_share(std::span<const double> errors) {
  double squares = 0;
  for (const double error : errors) squares += error * error;
  if (squares == 0) return std::nullopt;
  const double common = common_error(errors);
  return common * common * static_cast<double>(errors.size()) / squares;
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

std::optional<double> regret(std::span<const PredictedTrial> trials) {
  if (trials.empty()) return std::nullopt;
  const auto chosen = std::ranges::min_element(trials, {}, &PredictedTrial::predicted_s);
  const auto best = std::ranges::min_element(trials, {}, &PredictedTrial::measured_s);
  return chosen->measured_s / best->measured_s - 1;
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
