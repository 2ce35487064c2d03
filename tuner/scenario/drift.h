#pragma once

#include <cstdint>
#include <vector>

namespace tuner {

/// Loads of several iterations, in each of which the popularity of experts falls as 1 /
/// place^exponent, and in which experts change places little by little.
struct Drift {
  double exponent = 1;
  double share = 0;  ///< 0: no expert changes its place; 1: places are drawn anew
  int iterations = 1;
};

/// [iteration][expert]: its popularity. Experts have places by a score, a normal random walk that
/// goes back to 0:  score(i + 1) = (1 - share) score(i) + sqrt(1 - (1 - share)^2) noise.  So places
/// of two iterations are as much alike however late they are, and the less the further apart.
std::vector<std::vector<double>> drifting_weights(int experts, const Drift& drift,
                                                  std::uint64_t seed);

}  // namespace tuner
