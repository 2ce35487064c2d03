#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "moe/rows/routing.h"

namespace tuner::test {

/// A layer's loads from iteration to iteration: every source's popularity of an expert is
/// e^(z_expert + w_expert,source), z of standard deviation `skew`, w a third of it; in every
/// iteration a share `drift` of both is drawn anew, so that the distribution of loads stays what it
/// is.
class DriftingRows {
 public:
  DriftingRows(int sources, int experts, double skew, double drift, std::uint64_t seed)
      : skew_(skew), drift_(drift), random_(seed) {
    popular_.resize(static_cast<std::size_t>(experts));
    own_.assign(static_cast<std::size_t>(sources), popular_);
    for (double& z : popular_) z = normal_(random_);
    for (auto& of_source : own_) {
      for (double& w : of_source) w = normal_(random_);
    }
  }

  /// The routing of the next iteration.
  moe::LayerRouting next(std::int64_t copies) {
    move(popular_);
    moe::LayerRouting routing{0, static_cast<int>(popular_.size()), {}, 0};
    for (auto& of_source : own_) {
      move(of_source);
      std::vector<double> weights;
      double sum = 0;
      for (std::size_t e = 0; e < popular_.size(); ++e) {
        weights.push_back(std::exp(skew_ * (popular_[e] + of_source[e] / 3)));
        sum += weights.back();
      }
      auto& row = routing.tokens.emplace_back();
      for (const double weight : weights) {
        row.push_back(std::llround(static_cast<double>(copies) * weight / sum));
      }
    }
    return routing;
  }

 private:
  void move(std::vector<double>& values) {
    for (double& value : values) {
      value = std::sqrt(1 - drift_) * value + std::sqrt(drift_) * normal_(random_);
    }
  }

  double skew_, drift_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<double> popular_;           // [expert]
  std::vector<std::vector<double>> own_;  // [source][expert]
};

}  // namespace tuner::test
