#pragma once

#include "tuner/costs/fit.h"

namespace tuner::test {

inline LinearFit line(double alpha_s, double beta_s_per_unit = 0) {
  LinearFit fit;
  fit.alpha_s = alpha_s;
  fit.beta_s_per_unit = beta_s_per_unit;
  return fit;
}

}  // namespace tuner::test
