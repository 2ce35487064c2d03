#include "viewer/model/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "viewer/model/format.h"

namespace viewer {

namespace {

// Places are k * step with integer k: summing steps would drift.
std::vector<double> multiples(double begin, double end, double step) {
  std::vector<double> places;
  const double first = std::ceil(begin / step - 1e-9);
  for (double k = first; k * step <= end + step * 1e-9; k += 1) places.push_back(k * step);
  return places;
}

int decimals_for(double step) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
}

}  // namespace

double nice_step(double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw std::invalid_argument(fmt::format("nice_step: {} is not a positive length", value));
  }
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-12)) return factor * power;
  }
  return 10 * power;
}

std::vector<Tick> place_ticks(double begin, double end, int most) {
  std::vector<Tick> ticks;
  if (!(end > begin) || most < 1) return ticks;
  const double step = nice_step((end - begin) / most);
  for (const double at : multiples(begin, end, step)) {
    const bool plain = step >= 1e-6 && std::abs(at) < 1e9;
    ticks.push_back({at, plain ? grouped(at, decimals_for(step)) : fmt::format("{:.6g}", at)});
  }
  return ticks;
}

std::vector<Tick> place_time_ticks(double begin_s, double end_s, int most) {
  std::vector<Tick> ticks;
  if (!(end_s > begin_s) || most < 1) return ticks;
  const double step_s = nice_step((end_s - begin_s) / most);
  // The unit follows the largest label, so that a zoom deep into a long trace reads 12.000350 ms,
  // not 12000350 ns.
  const TimeUnit unit = time_unit(std::max(std::abs(begin_s), std::abs(end_s)));
  const int decimals = decimals_for(step_s / unit.seconds);
  for (const double at_s : multiples(begin_s, end_s, step_s)) {
    const double shown = at_s / unit.seconds;
    ticks.push_back({at_s, fmt::format("{} {}", grouped(shown, decimals), unit.name)});
  }
  return ticks;
}

}  // namespace viewer
