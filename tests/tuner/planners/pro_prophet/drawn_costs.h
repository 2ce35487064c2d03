#pragma once

#include <random>

#include "tuner/planners/placement/pro_prophet_equations.h"

namespace tuner::test {

/// Costs with which it may pay to send an expert with tens of rows, or none with hundreds.
inline ProProphetCosts draw_costs(std::mt19937& random, int devices) {
  const auto up_to = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  ProProphetCosts costs{{up_to(10), up_to(1)}, {up_to(10), up_to(1)}, {0}, {0}, 0, 0};
  const double startup_s = up_to(10), each_s = up_to(60), aggregate = up_to(2);
  for (int count = 1; count < devices; ++count) {
    costs.trans_s.push_back(startup_s + count * each_s);
    costs.agg_s.push_back(aggregate * costs.trans_s.back());
  }
  costs.fnec_s = up_to(200);
  costs.bnec_s = 2 * costs.fnec_s;
  return costs;
}

}  // namespace tuner::test
