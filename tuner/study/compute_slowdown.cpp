#include "tuner/study/compute_slowdown.h"

#include <algorithm>

namespace tuner {

std::optional<double> compute_slowdown(const std::map<int, double>& trials,
                                       const std::map<int, double>& profile) {
  std::optional<double> most;
  for (const auto& [rank, trial] : trials) {
    const auto before = profile.find(rank);
    if (before == profile.end()) continue;
    const double slowdown = trial / before->second;
    most = most ? std::max(*most, slowdown) : slowdown;
  }
  return most;
}

}  // namespace tuner
