#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "moe/model/model.h"

/// Steps whose loss, or whose norm of gradients, lies far above the last ones, and which make no
/// update (Model::outlier_z_score).
namespace moe {

/// What a training remembers of its last steps, outliers among them. Checkpoints hold it.
struct OutlierHistory {
  std::vector<double> losses,
      gradient_norms;        ///< at most Model::outlier_window, the last at the end
  std::int64_t skipped = 0;  ///< steps that made no update
  friend bool operator==(const OutlierHistory&, const OutlierHistory&) = default;
};

/// The largest value that is no outlier after `last`: the mean of the last `window` of them and
/// `z_score` of their sample standard deviations. None where there are fewer.
std::optional<double> outlier_limit(const std::vector<double>& last, std::int64_t window,
                                    double z_score);

/// The limits of one step; none where nothing is too large.
struct OutlierLimits {
  std::optional<double> loss, gradient_norm;
};
OutlierLimits outlier_limits(const OutlierHistory& history, const Model& model);

/// True for a loss that is too large after the steps in `history`.
bool is_outlier(const OutlierHistory& history, const Model& model, double loss);

/// A step that made no update, and why.
struct Outlier {
  std::string_view quantity;  ///< "loss" or "gradient norm"
  double value = 0;
  double limit = 0;
};

/// Adds a step. `gradient_norm`: none where it was not worked out. Returns what was too large, and
/// counts it.
std::optional<Outlier> remember(OutlierHistory& history, const Model& model, double loss,
                                std::optional<double> gradient_norm);

}  // namespace moe
