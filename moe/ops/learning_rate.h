#pragma once

#include <cstdint>

namespace moe {

/// The way in which the learning rate falls after the warm-up.
enum class RateSchedule : std::uint8_t { constant, linear, cosine, inverse_square_root };

/// The learning rate of every iteration s, counted from 1 (kernels/learning_rate.h works it out).
/// It rises as peak s / warmup_steps up to iteration warmup_steps. Then, with
/// t = (s - warmup_steps) / (decay_steps - warmup_steps), at most 1, it is
///   constant              peak
///   linear                floor + (peak - floor) (1 - t)
///   cosine                floor + (peak - floor) (1 + cos(pi t)) / 2
///   inverse_square_root   peak sqrt(max(warmup_steps, 1) / s), at least floor
struct LearningRate {
  double peak = 1e-3;
  double floor = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
  RateSchedule schedule = RateSchedule::constant;
  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

}  // namespace moe
