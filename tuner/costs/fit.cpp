#include "tuner/costs/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tuner {
namespace {

/// Spread of units per call below which a slope cannot be told from an offset.
constexpr double kSmallestSpread = 1.1;

struct Line {
  double alpha = 0;
  double beta = 0;
};

/// Sums of the normal equations of the relative residuals: unknowns alpha, beta; every right
/// side 1.
struct Normal {
  double cc = 0, cn = 0, nn = 0, c = 0, n = 0;
};

double relative_cost(const Normal& normal, Line line, double samples) {
  return line.alpha * line.alpha * normal.cc + 2 * line.alpha * line.beta * normal.cn +
         line.beta * line.beta * normal.nn - 2 * line.alpha * normal.c - 2 * line.beta * normal.n +
         samples;
}

Line solve(const Normal& normal, double samples, bool spread) {
  const double determinant = normal.cc * normal.nn - normal.cn * normal.cn;
  if (spread && determinant > 1e-12 * normal.cc * normal.nn) {
    const Line line{(normal.c * normal.nn - normal.n * normal.cn) / determinant,
                    (normal.n * normal.cc - normal.c * normal.cn) / determinant};
    if (line.alpha >= 0 && line.beta >= 0) return line;
  }
  const Line flat{normal.cc > 0 ? normal.c / normal.cc : 0, 0};
  const Line steep{0, normal.nn > 0 ? normal.n / normal.nn : 0};
  if (normal.nn <= 0) return flat;
  if (!spread) return steep;
  return relative_cost(normal, flat, samples) < relative_cost(normal, steep, samples) ? flat
                                                                                      : steep;
}

}  // namespace

LinearFit fit_line(std::span<const Sample> samples, std::string unit) {
  if (samples.empty()) throw std::invalid_argument("fit_line: no samples");
  Normal normal;
  double least = INFINITY, most = 0;
  LinearFit fit;
  fit.unit = std::move(unit);
  fit.samples = static_cast<int>(samples.size());
  fit.min_units = INFINITY;
  for (const Sample& sample : samples) {
    if (!(sample.seconds > 0) || !std::isfinite(sample.seconds)) {
      throw std::invalid_argument(fmt::format("fit_line: a time of {} s", sample.seconds));
    }
    const double c = sample.calls / sample.seconds;
    const double n = sample.units / sample.seconds;
    normal.cc += c * c;
    normal.cn += c * n;
    normal.nn += n * n;
    normal.c += c;
    normal.n += n;
    const double per_call = sample.units / std::max(sample.calls, 1.0);
    least = std::min(least, per_call);
    most = std::max(most, per_call);
    fit.min_units = std::min(fit.min_units, sample.units);
    fit.max_units = std::max(fit.max_units, sample.units);
  }
  const bool spread = most > kSmallestSpread * least;
  const Line line = solve(normal, static_cast<double>(samples.size()), spread);
  fit.alpha_s = line.alpha;
  fit.beta_s_per_unit = line.beta;

  double mean = 0;
  for (const Sample& sample : samples) mean += sample.seconds / static_cast<double>(samples.size());
  double residual = 0, total = 0, relative = 0;
  for (const Sample& sample : samples) {
    const double error = seconds_of(fit, sample.calls, sample.units) - sample.seconds;
    residual += error * error;
    relative += error * error / (sample.seconds * sample.seconds);
    total += (sample.seconds - mean) * (sample.seconds - mean);
    fit.max_relative_residual =
        std::max(fit.max_relative_residual, std::abs(error) / sample.seconds);
  }
  const int freedom = fit.samples - (fit.alpha_s > 0 ? 1 : 0) - (fit.beta_s_per_unit > 0 ? 1 : 0);
  if (freedom > 0) fit.relative_deviation = std::sqrt(relative / freedom);
  // Equal times have nothing to explain: the fit is perfect if it meets them.
  fit.r2 = total > 1e-24 * mean * mean ? 1 - residual / total
                                       : (residual <= 1e-12 * mean * mean ? 1 : 0);
  return fit;
}

double seconds_of(const LinearFit& fit, double calls, double units) {
  return fit.alpha_s * calls + fit.beta_s_per_unit * units;
}

bool extrapolates(const LinearFit& fit, double units) {
  return units > 2 * fit.max_units || 2 * units < fit.min_units;
}

}  // namespace tuner
