#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tuner {

/// The iterations of one run: (predicted - measured) / measured of each. Runs of one moment were
/// trained in turns.
struct RunErrors {
  std::int64_t schedule = 0;
  int moment = 0;
  std::vector<double> errors;
};

/// The relative deviation of a later trial from what costs of these runs predict: the measured time
/// lies within it of the prediction about two times out of three. None without runs.
///
///   deviation^2 = s^2 + m^2
///   s = 1.4826 median over schedules of |median error of its iterations|: how well costs predict
///       any schedule
///   m = 1.4826 median over pairs of moments of |difference of their errors| / sqrt(2), where this
///       is the median over the schedules that were trained at both: how fast the machine is at
///       another moment
/// 1.4826 medians of sizes are the standard deviation of what is normal, and one wild run does not
/// change them. m is 0 where no schedule was trained at two moments.
std::optional<double> deviation_of(std::span<const RunErrors> runs);

}  // namespace tuner
