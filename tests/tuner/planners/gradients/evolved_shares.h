#pragma once

#include <algorithm>
#include <nlopt.hpp>
#include <vector>

#include "tuner/planners/gradients/gradient_shares.h"

namespace tuner::test {

/// What step 2 takes with these sizes.
inline double seconds_of_shares(const GradientRest& rest, const std::vector<double>& given) {
  double seconds = 0, left = rest.total;
  for (std::size_t i = 0; i < given.size(); ++i) {
    seconds += rest.seconds(static_cast<int>(i), given[i]);
    left -= given[i];
  }
  return seconds + rest.left_seconds(std::max(left, 0.0));
}

/// The optimum that an evolution strategy finds (NLopt's ISRES; the paper uses differential
/// evolution), where share_exactly() finds it by a dynamic program. Each variable is the share that a
/// part takes of its most. It evaluates the sum `evaluations` times, and returns the same for the
/// same seed.
inline std::vector<double> share_by_evolution(const GradientRest& rest, int evaluations,
                                              unsigned seed) {
  std::vector<double> most = rest.most_until;
  if (most.empty() || !(rest.total > 0)) return std::vector<double>(most.size(), 0.0);
  double limit = rest.total;
  for (auto part = most.rbegin(); part != most.rend(); ++part) {
    limit = *part = std::clamp(*part, 0.0, limit);
  }
  struct Sum {
    const GradientRest& rest;
    const std::vector<double>& most;
    std::vector<double> sizes(const std::vector<double>& taken) const {
      std::vector<double> given;
      double so_far = 0;
      for (std::size_t i = 0; i < taken.size(); ++i) {
        given.push_back(taken[i] * std::max(most[i] - so_far, 0.0));
        so_far += given.back();
      }
      return given;
    }
  } objective{rest, most};
  nlopt::srand(seed);
  nlopt::opt optimizer(nlopt::GN_ISRES, static_cast<unsigned>(most.size()));
  optimizer.set_lower_bounds(0.0);
  optimizer.set_upper_bounds(1.0);
  optimizer.set_maxeval(evaluations);
  optimizer.set_min_objective(
      [](const std::vector<double>& taken, std::vector<double>&, void* data) {
        const auto& one = *static_cast<const Sum*>(data);
        return seconds_of_shares(one.rest, one.sizes(taken));
      },
      &objective);
  std::vector<double> taken(most.size(), 0.5);
  double least = 0;
  optimizer.optimize(taken, least);
  return objective.sizes(taken);
}

}  // namespace tuner::test
