#pragma once

#include <map>
#include <optional>

namespace tuner {

/// How many times as long computation took in trials as in the profile, both against the costs of
/// the profile (costs/rank_slowdown.h): that of the rank that was slowed most, since the others
/// wait for it in every exchange. None where no rank is in both.
std::optional<double> compute_slowdown(const std::map<int, double>& trials,
                                       const std::map<int, double>& profile);

}  // namespace tuner
