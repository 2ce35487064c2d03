#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tuner {

/// The accuracy with which a profile's costs predict one of its own schedules.
struct ProfileQuality {
  std::string what;                       ///< the schedule
  double error = 0;                       ///< the median of (predicted - measured) / measured
  std::optional<double> share_of_others;  ///< their share of the processors; none: not known
};

/// A larger error is reported.
inline constexpr double kLargestProfileError = 0.1;

/// "sequential 0.4%, 2 chunks overlapped -3.1%"
std::string errors_by_schedule(const std::vector<ProfileQuality>& qualities);

/// Empty where every schedule is predicted within kLargestProfileError; otherwise the worst
/// schedule, its error, the share that other processes took meanwhile, and the remedy.
std::string profile_warning(const std::vector<ProfileQuality>& qualities);

}  // namespace tuner
