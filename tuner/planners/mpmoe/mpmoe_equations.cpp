#include "tuner/planners/mpmoe/mpmoe_equations.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tuner::mpmoe {

double model_states(const Sizes& s) { return 4 * (s.E * s.M + 2 * s.H * s.M); }

double activations(const Sizes& s) { return 4 * s.B * s.M + s.B * s.H; }

double buffers(const Sizes& s) { return s.B * s.M + s.B * s.H; }

double pipelined(const Sizes& s) { return activations(s); }

double saved(const Sizes& s, int n) {
  if (n < 1) throw std::invalid_argument(fmt::format("mpmoe: {} partitions", n));
  if (n == 1) return 0;
  return s.B * (2 * s.M * (n - 2) / n + s.H * (n - 1) / n);
}

double saving_ratio(const Sizes& s, int n) {
  return 2 * saved(s, n) / (model_states(s) + 2 * pipelined(s));
}

}  // namespace tuner::mpmoe
