#include "tuner/costs/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <stdexcept>
#include <vector>

#include "db/console/statistics.h"

namespace tuner {
namespace {

/// Spread of units per call below which a slope cannot be told from an offset: a few percent of
/// noise at both ends would pass for an offset as long as the op itself.
constexpr double kSmallestSpread = 1.8;
constexpr std::size_t kFewestToJudge = 5;      ///< samples, to say that one of them is an outlier
constexpr std::size_t kMostOutliers = 3;       ///< one sample in so many
constexpr std::size_t kMostThroughPairs = 60;  ///< samples through whose pairs lines are drawn
constexpr double kNoLine = 0.2;                ///< relative deviation
constexpr double kResolved = 3;                ///< alpha over its standard error
constexpr int kCoefficients = 2;
constexpr double kBeyond = 4;  ///< points lie so many times beyond the sizes of samples

struct Line {
  double alpha = 0;
  double beta = 0;
};

/// A sample over its seconds: alpha c + beta n = 1 where the line meets it.
struct Scaled {
  double c = 0, n = 0;
};

double residual_of(Line line, Scaled row) { return line.alpha * row.c + line.beta * row.n - 1; }

/// Throws std::invalid_argument for times that are not positive and finite.
std::vector<Scaled> scaled(std::span<const Sample> samples) {
  std::vector<Scaled> rows;
  for (const Sample& sample : samples) {
    if (!(sample.seconds > 0) || !std::isfinite(sample.seconds)) {
      throw std::invalid_argument(fmt::format("fit_line: a time of {} s", sample.seconds));
    }
    rows.push_back({sample.calls / sample.seconds, sample.units / sample.seconds});
  }
  return rows;
}

/// Whether the units per call differ enough to tell alpha from beta.
bool is_spread(std::span<const Sample> samples) {
  double least = INFINITY, most = 0;
  for (const Sample& sample : samples) {
    const double size = units_per_call(sample.calls, sample.units);
    least = std::min(least, size);
    most = std::max(most, size);
  }
  return most > kSmallestSpread * least;
}

/// The normal equations of the relative residuals: unknowns alpha, beta; every right side 1.
struct Equations {
  double cc = 0, cn = 0, nn = 0, c = 0, n = 0;
  bool spread = false;

  double determinant() const { return cc * nn - cn * cn; }
  bool tell_both() const { return spread && determinant() > 1e-12 * cc * nn; }
  /// The sum of squared relative residuals, without what is the same for all lines.
  double cost(Line line) const {
    return line.alpha * line.alpha * cc + 2 * line.alpha * line.beta * cn +
           line.beta * line.beta * nn - 2 * line.alpha * c - 2 * line.beta * n;
  }
};

/// Throws as scaled, and std::invalid_argument without samples.
Equations equations_of(std::span<const Sample> samples) {
  if (samples.empty()) throw std::invalid_argument("fit_line: no samples");
  Equations equations;
  for (const Scaled& row : scaled(samples)) {
    equations.cc += row.c * row.c;
    equations.cn += row.c * row.n;
    equations.nn += row.n * row.n;
    equations.c += row.c;
    equations.n += row.n;
  }
  equations.spread = is_spread(samples);
  return equations;
}

Line solve(const Equations& e) {
  if (e.tell_both()) {
    const Line line{(e.c * e.nn - e.n * e.cn) / e.determinant(),
                    (e.n * e.cc - e.c * e.cn) / e.determinant()};
    if (line.alpha >= 0 && line.beta >= 0) return line;
  }
  const Line flat{e.cc > 0 ? e.c / e.cc : 0, 0};
  if (e.nn <= 0) return flat;
  const Line steep{0, e.n / e.nn};
  return e.spread && e.cost(flat) < e.cost(steep) ? flat : steep;
}

/// The lines of step 1, through samples evenly spaced among `rows`.
std::vector<Line> lines_through(std::span<const Scaled> rows, bool spread) {
  const std::size_t step = (rows.size() + kMostThroughPairs - 1) / kMostThroughPairs;
  std::vector<Line> lines;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    if (rows[i].n > 0) lines.push_back({0, 1 / rows[i].n});
    if ((spread || !(rows[i].n > 0)) && rows[i].c > 0) lines.push_back({1 / rows[i].c, 0});
    for (std::size_t j = i + step; spread && j < rows.size(); j += step) {
      const double determinant = rows[i].c * rows[j].n - rows[j].c * rows[i].n;
      if (std::abs(determinant) < 1e-12 * rows[i].c * rows[j].n) continue;
      const Line line{(rows[j].n - rows[i].n) / determinant, (rows[i].c - rows[j].c) / determinant};
      if (line.alpha >= 0 && line.beta >= 0) lines.push_back(line);
    }
  }
  return lines;
}

/// Steps 1 and 2: the samples that are no outliers.
std::vector<Sample> without_outliers(std::span<const Sample> samples, double least_outlier) {
  std::vector<Sample> all(samples.begin(), samples.end());
  if (samples.size() < kFewestToJudge) return all;
  const std::vector<Scaled> rows = scaled(samples);
  const std::size_t half = (rows.size() + kCoefficients + 1) / 2;
  Line best;
  double least_median = INFINITY;
  std::vector<double> residuals(rows.size());
  for (const Line line : lines_through(rows, is_spread(samples))) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      residuals[i] = std::abs(residual_of(line, rows[i]));
    }
    const auto median = residuals.begin() + static_cast<std::ptrdiff_t>(half - 1);
    std::nth_element(residuals.begin(), median, residuals.end());
    if (*median >= least_median) continue;
    least_median = *median;
    best = line;
  }
  const double deviation =
      1.4826 * (1 + 5 / static_cast<double>(rows.size() - kCoefficients)) * least_median;
  const double farthest = std::max(2.5 * deviation, least_outlier);
  std::vector<Sample> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::abs(residual_of(best, rows[i])) <= farthest) kept.push_back(samples[i]);
  }
  return kMostOutliers * (rows.size() - kept.size()) <= rows.size() ? kept : all;
}

/// On the straight pieces between points, and on the first and the last beyond them.
double time_on_pieces(const std::vector<SizeTime>& points, double units) {
  auto after = std::ranges::lower_bound(points, units, {}, &SizeTime::units);
  after = std::clamp(after, points.begin() + 1, points.end() - 1);
  const SizeTime &left = *std::prev(after), &right = *after;
  const double share = (units - left.units) / (right.units - left.units);
  return std::max(left.seconds + share * (right.seconds - left.seconds), 0.0);
}

/// fit_sizes: the points.
std::vector<SizeTime> points_of(const LinearFit& line, std::span<const Sample> samples) {
  struct Size {
    std::vector<double> units, off_line;
  };
  std::map<int, Size> doublings;
  for (const Sample& sample : samples) {
    if (!(sample.units > 0)) return {};
    const double units = units_per_call(sample.calls, sample.units);
    Size& size = doublings[std::ilogb(units)];
    size.units.push_back(units);
    size.off_line.push_back(sample.seconds / seconds_of(line, sample.calls, sample.units));
  }
  if (doublings.size() < 2) return {};
  std::vector<SizeTime> points;
  const auto add = [&](double units, double off_line) {
    const double seconds = off_line * seconds_of(line, 1, units);
    points.push_back({units, points.empty() ? seconds : std::max(seconds, points.back().seconds)});
  };
  const Size &first = doublings.begin()->second, &last = doublings.rbegin()->second;
  add(db::median(first.units) / kBeyond, db::median(first.off_line));
  for (const auto& [exponent, size] : doublings) {
    add(db::median(size.units), db::median(size.off_line));
  }
  add(kBeyond * db::median(last.units), db::median(last.off_line));
  return points;
}

/// The line through `samples`, without anything that judges it.
LinearFit draw_line(std::span<const Sample> samples, const Equations& equations, std::string unit) {
  LinearFit fit;
  fit.unit = std::move(unit);
  fit.samples = static_cast<int>(samples.size());
  fit.min_units = INFINITY;
  for (const Sample& sample : samples) {
    fit.min_units = std::min(fit.min_units, sample.units);
    fit.max_units = std::max(fit.max_units, sample.units);
  }
  const Line line = solve(equations);
  fit.alpha_s = line.alpha;
  fit.beta_s_per_unit = line.beta;
  return fit;
}

/// Adds what tells how well `fit` meets the samples it was drawn through.
void judge(LinearFit& fit, std::span<const Sample> samples, const Equations& equations) {
  double mean = 0;
  for (const Sample& sample : samples) mean += sample.seconds / fit.samples;
  double residual = 0, total = 0, relative = 0;
  for (const Sample& sample : samples) {
    const double error = seconds_of(fit, sample.calls, sample.units) - sample.seconds;
    residual += error * error;
    relative += error * error / (sample.seconds * sample.seconds);
    total += (sample.seconds - mean) * (sample.seconds - mean);
    fit.max_relative_residual =
        std::max(fit.max_relative_residual, std::abs(error) / sample.seconds);
  }
  const int coefficients = (fit.alpha_s > 0 ? 1 : 0) + (fit.beta_s_per_unit > 0 ? 1 : 0);
  const int freedom = fit.samples - std::max(coefficients, static_cast<int>(fit.points.size()) - 2);
  if (freedom <= 0) return;
  const double deviation = std::sqrt(relative / freedom);
  fit.relative_deviation = deviation;
  // Equal times have nothing to explain: the fit is perfect if it meets them.
  fit.r2 = total > 1e-24 * mean * mean ? 1 - residual / total
                                       : (residual <= 1e-12 * mean * mean ? 1 : 0);
  // Of a coefficient that is held at 0, too: how far above it may be.
  if (equations.tell_both()) {
    fit.alpha_error_s = deviation * std::sqrt(equations.nn / equations.determinant());
    fit.beta_error_s_per_unit = deviation * std::sqrt(equations.cc / equations.determinant());
  } else if (fit.beta_s_per_unit > 0) {
    fit.beta_error_s_per_unit = deviation / std::sqrt(equations.nn);
  } else {
    fit.alpha_error_s = deviation / std::sqrt(equations.cc);
  }
}

}  // namespace

double units_per_call(double calls, double units) { return units / std::max(calls, 1.0); }

LinearFit fit_line(std::span<const Sample> samples, std::string unit) {
  const Equations equations = equations_of(samples);
  LinearFit fit = draw_line(samples, equations, std::move(unit));
  judge(fit, samples, equations);
  return fit;
}

LinearFit fit_sizes(std::span<const Sample> samples, std::string unit) {
  const Equations equations = equations_of(samples);
  LinearFit fit = draw_line(samples, equations, std::move(unit));
  fit.points = points_of(fit, samples);
  judge(fit, samples, equations);
  return fit;
}

LinearFit fit_points(std::vector<SizeTime> points, std::string unit) {
  std::vector<Sample> samples;
  for (const SizeTime& point : points) samples.push_back({1, point.units, point.seconds});
  LinearFit fit = draw_line(samples, equations_of(samples), std::move(unit));
  fit.samples = 0;  // it is told, not measured here
  fit.points = std::move(points);
  return fit;
}

LinearFit fit_line_without_outliers(std::span<const Sample> samples, std::string unit,
                                    double least_outlier) {
  const std::vector<Sample> kept = without_outliers(samples, least_outlier);
  LinearFit fit = fit_line(kept, std::move(unit));
  fit.outliers = static_cast<int>(samples.size() - kept.size());
  return fit;
}

std::string verdict_of(const LinearFit& fit) {
  std::vector<std::string> wrong;
  const bool has_alpha = fit.unit != "second";
  const bool few = fit.samples < kCoefficients + 2;
  if (few) wrong.emplace_back("too few samples");
  if (fit.outliers > 0) {
    wrong.push_back(
        fmt::format("{} outlier{} left out", fit.outliers, fit.outliers == 1 ? "" : "s"));
  }
  if (fit.relative_deviation.value_or(0) > kNoLine) wrong.emplace_back("samples are no line");
  const bool resolved =
      fit.alpha_error_s && fit.alpha_s >= kResolved * *fit.alpha_error_s && fit.alpha_s > 0;
  if (has_alpha && !few && !resolved) wrong.emplace_back(kAlphaNotResolved);
  return wrong.empty() ? "good" : fmt::format("{}", fmt::join(wrong, "; "));
}

double seconds_of(const LinearFit& fit, double calls, double units) {
  if (!fit.points.empty()) return calls * time_on_pieces(fit.points, units_per_call(calls, units));
  return fit.alpha_s * calls + fit.beta_s_per_unit * units;
}

StraightPiece piece_at(const LinearFit& fit, double units) {
  if (fit.points.empty()) return {fit.alpha_s, fit.beta_s_per_unit};
  const double startup_s = time_on_pieces(fit.points, 0);
  if (!(units > 0)) return {startup_s, fit.beta_s_per_unit};
  return {startup_s, (time_on_pieces(fit.points, units) - startup_s) / units};
}

bool extrapolates(const LinearFit& fit, double units) {
  return units > 2 * fit.max_units || 2 * units < fit.min_units;
}

}  // namespace tuner
