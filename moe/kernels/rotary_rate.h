#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "moe/kernels/device.h"
#include "moe/ops/rotary.h"

namespace moe {

/// f_c of RotaryAngles (moe/ops/rotary.h): the angle of one position, for pairs of columns c.
struct RotaryRate {
  double rate;  ///< of the logarithm, from a pair to the next
  AngleScaling scaling;
  double factor, trained_turns;  ///< of f = 1 in a sequence of the trained length
  double slow, fast;             ///< turns (llama3), or the pairs that have them (yarn)

  /// `columns`: R. Everything that is the same for all pairs is worked out here, on the host.
  static RotaryRate of(const RotaryAngles& angles, std::int64_t columns) {
    const double log_base = std::log(angles.base), width = static_cast<double>(columns);
    const double trained_turns = angles.trained_length / (2 * std::numbers::pi);
    RotaryRate of{-2 * log_base / width, angles.scaling,    angles.factor,
                  trained_turns,         angles.slow_turns, angles.fast_turns};
    if (angles.scaling != AngleScaling::yarn) return of;
    const auto pair_of = [&](double turns) {
      if (!(log_base > 0)) return 0.0;  // all pairs turn alike
      return width * std::log(trained_turns / turns) / (2 * log_base);
    };
    of.fast = pair_of(angles.fast_turns);
    of.slow = pair_of(angles.slow_turns);
    if (angles.whole_pairs) {
      of.fast = std::floor(of.fast);
      of.slow = std::ceil(of.slow);
    }
    of.fast = std::fmax(of.fast, 0);
    of.slow = std::fmin(of.slow, width - 1);
    constexpr double kAtOnce = 1e-3;  // as the authors' program, where both are one pair
    if (of.slow == of.fast) of.slow += kAtOnce;
    return of;
  }

  MOE_BODY double operator()(std::int64_t pair) const {
    const double c = static_cast<double>(pair), f = std::exp(rate * c);
    double slowed = 0;  // share of the angle that is divided by the factor
    if (scaling == AngleScaling::none) return f;
    if (scaling == AngleScaling::linear) slowed = 1;
    if (scaling == AngleScaling::llama3) slowed = (fast - trained_turns * f) / (fast - slow);
    if (scaling == AngleScaling::yarn) slowed = (c - fast) / (slow - fast);
    slowed = slowed < 0 ? 0 : slowed > 1 ? 1 : slowed;
    return f * (1 - slowed + slowed / factor);
  }
};

}  // namespace moe
