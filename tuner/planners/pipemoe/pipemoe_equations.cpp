#include "tuner/planners/pipemoe/pipemoe_equations.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tuner {

double pipelined_layer_s(int r, double t_a2a, double t_exp) {
  if (r < 1) throw std::invalid_argument(fmt::format("pipelined_layer_s: r = {}", r));
  const bool experts_dominate = r * t_exp > 2 * (r - 1) * t_a2a;
  return experts_dominate ? 2 * t_a2a + r * t_exp : 2 * r * t_a2a;
}

double pipelined_layer_s(int r, const LinearFit& a2a, double n_a2a, const LinearFit& exp,
                         double n_exp, int gemms) {
  if (r < 1) throw std::invalid_argument(fmt::format("pipelined_layer_s: r = {}", r));
  return pipelined_layer_s(r, seconds_of(a2a, 1, n_a2a / r), seconds_of(exp, gemms, n_exp / r));
}

}  // namespace tuner
