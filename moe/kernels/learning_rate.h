#pragma once

#include <cmath>

#include "moe/kernels/counter_random.h"
#include "moe/kernels/device.h"
#include "moe/ops/learning_rate.h"

namespace moe {

/// The learning rate of iteration `step`, from 1 (ops/learning_rate.h). The device works it out
/// too, since an update op knows the step only as a tensor.
MOE_BODY double rate_at(const LearningRate& rate, double step) {
  const auto warmup = static_cast<double>(rate.warmup_steps);
  if (step < warmup) return rate.peak * step / warmup;
  const double length = static_cast<double>(rate.decay_steps) - warmup;
  const double t = step - warmup < length ? (step - warmup) / length : 1;
  const double above = rate.peak - rate.floor;
  switch (rate.schedule) {
    case RateSchedule::constant:
      break;
    case RateSchedule::linear:
      return rate.floor + above * (1 - t);
    case RateSchedule::cosine:
      return rate.floor + above * (1 + exact_cosine(t / 2)) / 2;
    case RateSchedule::inverse_square_root: {
      const double falling = rate.peak * std::sqrt((warmup > 1 ? warmup : 1) / step);
      return falling > rate.floor ? falling : rate.floor;
    }
  }
  return rate.peak;
}

}  // namespace moe
