#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/study/profile_runs.h"

namespace tuner {

/// The accuracy with which a profile's costs predict one of its own schedules.
struct ProfileQuality {
  std::string what;  ///< the schedule
  double error = 0;  ///< the median of (predicted - measured) / measured, over all rounds
};

/// A larger error is reported.
inline constexpr double kLargestProfileError = 0.1;

/// Of each schedule. errors: (predicted - measured) / measured, by run and iteration.
std::vector<ProfileQuality> profile_qualities(const ProfileRuns& runs,
                                              const std::vector<std::vector<double>>& errors);

/// "sequential 0.4%, 2 chunks overlapped -3.1%"
std::string errors_by_schedule(const std::vector<ProfileQuality>& qualities);

/// Empty where every schedule is predicted within kLargestProfileError; otherwise the worst
/// schedule, its error, the most that other processes took during a profile (ProfileRuns), and the
/// remedy.
std::string profile_warning(const std::vector<ProfileQuality>& qualities,
                            std::optional<double> most_of_others);

}  // namespace tuner
