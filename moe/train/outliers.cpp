#include "moe/train/outliers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace moe {
namespace {

void add_last(std::vector<double>& values, double value, std::int64_t window) {
  values.push_back(value);
  const auto most = static_cast<std::size_t>(window);
  if (values.size() > most) {
    values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(most));
  }
}

/// A limit as the device compares with it.
double as_compared(double limit, DType dtype) {
  return dtype == DType::f64 ? limit : static_cast<double>(static_cast<float>(limit));
}

}  // namespace

std::optional<double> outlier_limit(const std::vector<double>& last, std::int64_t window,
                                    double z_score) {
  if (static_cast<std::int64_t>(last.size()) < window) return std::nullopt;
  const auto considered = std::span(last).last(static_cast<std::size_t>(window));
  const auto count = static_cast<double>(window);
  const double mean = std::accumulate(considered.begin(), considered.end(), 0.0) / count;
  double squares = 0;
  for (const double value : considered) squares += (value - mean) * (value - mean);
  return mean + z_score * std::sqrt(squares / (count - 1));
}

OutlierLimits outlier_limits(const OutlierHistory& history, const Model& model) {
  if (!model.outlier_z_score) return {};
  const auto limit = [&](const std::vector<double>& last) {
    return outlier_limit(last, model.outlier_window, *model.outlier_z_score);
  };
  OutlierLimits limits{limit(history.losses), limit(history.gradient_norms)};
  if (limits.gradient_norm) limits.gradient_norm = as_compared(*limits.gradient_norm, model.dtype);
  return limits;
}

bool is_outlier(const OutlierHistory& history, const Model& model, double loss) {
  const OutlierLimits limits = outlier_limits(history, model);
  return limits.loss && loss > *limits.loss;
}

std::optional<Outlier> remember(OutlierHistory& history, const Model& model, double loss,
                                std::optional<double> gradient_norm) {
  if (!model.outlier_z_score) return std::nullopt;
  const OutlierLimits limits = outlier_limits(history, model);
  std::optional<Outlier> outlier;
  if (limits.loss && loss > *limits.loss) {
    outlier = Outlier{"loss", loss, *limits.loss};
  } else if (limits.gradient_norm && gradient_norm && *gradient_norm > *limits.gradient_norm) {
    outlier = Outlier{"gradient norm", *gradient_norm, *limits.gradient_norm};
  }
  history.skipped += outlier ? 1 : 0;
  add_last(history.losses, loss, model.outlier_window);
  if (gradient_norm) add_last(history.gradient_norms, *gradient_norm, model.outlier_window);
  return outlier;
}

}  // namespace moe
