#include "tuner/costs/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "db/console/statistics.h"

namespace tuner {
namespace {

/// Spread of units per call below which a slope cannot be told from an offset: a few percent of
/// noise at both ends would pass for an offset as long as the op itself.
constexpr double kSmallestSpread = 1.8;
constexpr std::size_t kFewestToJudge = 5;      ///< samples, to say that one of them is an outlier
constexpr double kOutlying = 2.5;              ///< times off what those beside it take
constexpr double kOffLine = 0.5;               ///< relative residual that may be of a line
constexpr std::size_t kMostOutliers = 3;       ///< of a line: one sample in so many
constexpr std::size_t kMostThroughPairs = 60;  ///< samples through whose pairs lines are drawn
constexpr double kOffStraight = 0.02;          ///< relative deviation that is no bend of a line
constexpr double kUnexplained = 0.01;          ///< and that no point of a curve need explain
constexpr double kApart = 1.2;                 ///< a point's size over that of the one before
constexpr double kScatter = 0.2;               ///< relative deviation
constexpr double kResolved = 3;                ///< alpha over its standard error
constexpr int kCoefficients = 2;

struct Line {
  double alpha = 0;
  double beta = 0;

  double at(double units) const { return alpha + beta * units; }
};

using OneCallTimes = std::vector<SizeTime>;  ///< one call each, by ascending size

/// Throws std::invalid_argument without samples, and for times that are not positive and finite.
OneCallTimes calls_of(std::span<const Sample> samples) {
  if (samples.empty()) throw std::invalid_argument("fit_curve: no samples");
  OneCallTimes calls;
  for (const Sample& sample : samples) {
    if (!(sample.seconds > 0) || !std::isfinite(sample.seconds)) {
      throw std::invalid_argument(fmt::format("fit_curve: a time of {} s", sample.seconds));
    }
    calls.push_back(
        {units_per_call(sample.calls, sample.units), sample.seconds / std::max(sample.calls, 1.0)});
  }
  std::ranges::sort(calls, {},
                    [](const SizeTime& call) { return std::tuple(call.units, call.seconds); });
  return calls;
}

/// Whether the sizes differ enough to tell alpha from beta.
bool is_spread(const OneCallTimes& calls) {
  return calls.back().units > kSmallestSpread * calls.front().units;
}

/// The normal equations of the relative residuals: unknowns alpha, beta; every right side 1.
struct Equations {
  double cc = 0, cn = 0, nn = 0, c = 0, n = 0;
  bool spread = false;

  explicit Equations(const OneCallTimes& calls) : spread(is_spread(calls)) {
    for (const SizeTime& call : calls) {
      const double of_alpha = 1 / call.seconds, of_beta = call.units / call.seconds;
      cc += of_alpha * of_alpha;
      cn += of_alpha * of_beta;
      nn += of_beta * of_beta;
      c += of_alpha;
      n += of_beta;
    }
  }
  double determinant() const { return cc * nn - cn * cn; }
  bool tell_both() const { return spread && determinant() > 1e-12 * cc * nn; }
  /// The sum of squared relative residuals, without what is the same for all lines.
  double cost(Line line) const {
    return line.alpha * line.alpha * cc + 2 * line.alpha * line.beta * cn +
           line.beta * line.beta * nn - 2 * line.alpha * c - 2 * line.beta * n;
  }
  Line least() const {
    if (tell_both()) {
      const Line line{(c * nn - n * cn) / determinant(), (n * cc - c * cn) / determinant()};
      if (line.alpha >= 0 && line.beta >= 0) return line;
    }
    const Line flat{c / cc, 0};
    if (nn <= 0) return flat;
    const Line steep{0, n / nn};
    return spread && cost(flat) < cost(steep) ? flat : steep;
  }
};

/// Lines through two calls, and through one and an axis, of calls evenly spaced among these.
std::vector<Line> lines_through(const OneCallTimes& calls) {
  const std::size_t step = (calls.size() + kMostThroughPairs - 1) / kMostThroughPairs;
  const bool spread = is_spread(calls);
  std::vector<Line> lines;
  for (std::size_t i = 0; i < calls.size(); i += step) {
    const SizeTime& one = calls[i];
    if (one.units > 0) lines.push_back({0, one.seconds / one.units});
    if (spread || !(one.units > 0)) lines.push_back({one.seconds, 0});
    for (std::size_t j = i + step; spread && j < calls.size(); j += step) {
      const double beta = (calls[j].seconds - one.seconds) / (calls[j].units - one.units);
      const Line line{one.seconds - beta * one.units, beta};
      if (std::isfinite(beta) && line.alpha >= 0 && line.beta >= 0) lines.push_back(line);
    }
  }
  return lines;
}

/// The line that has most calls near it.
Line middle_line(const OneCallTimes& calls) {
  Line best;
  double least = INFINITY;
  std::vector<double> residuals(calls.size());
  const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2);
  for (const Line line : lines_through(calls)) {
    std::ranges::transform(calls, residuals.begin(), [&](const SizeTime& call) {
      return std::abs(line.at(call.units) / call.seconds - 1);
    });
    std::nth_element(residuals.begin(), middle, residuals.end());
    if (*middle >= least) continue;
    least = *middle;
    best = line;
  }
  return best;
}

/// [call]: its time over that of the line which has most calls near it.
std::vector<double> off_middle_line(const OneCallTimes& calls) {
  const Line line = middle_line(calls);
  std::vector<double> off_line;
  for (const SizeTime& call : calls) {
    const double expected = std::max(line.at(call.units), std::numeric_limits<double>::min());
    off_line.push_back(call.seconds / expected);
  }
  return off_line;
}

/// Whether a call is as long as a constant time, or a constant rate, lets expect from another.
bool follows(const SizeTime& call, const SizeTime& other) {
  const double at_rate = other.units > 0 ? other.seconds * call.units / other.units : INFINITY;
  return call.seconds * kOutlying >= std::min(other.seconds, at_rate) &&
         call.seconds <= kOutlying * std::max(other.seconds, at_rate);
}

/// Step 1 of fit_curve.
OneCallTimes without_outliers(const OneCallTimes& calls) {
  if (calls.size() < kFewestToJudge) return calls;
  const std::vector<double> off_line = off_middle_line(calls);
  const auto is_far = [&](std::size_t i, std::size_t count) {
    const std::size_t first = std::min(i - std::min(i, count / 2), calls.size() - count);
    const auto begin = off_line.begin() + static_cast<std::ptrdiff_t>(first);
    const double beside = db::median({begin, begin + static_cast<std::ptrdiff_t>(count)});
    return off_line[i] > kOutlying * beside || off_line[i] * kOutlying < beside;
  };
  OneCallTimes kept;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool follows_next = (i == 0 && follows(calls[0], calls[1])) ||
                              (i + 1 == calls.size() && follows(calls[i], calls[i - 1]));
    if (follows_next || !is_far(i, 3) || !is_far(i, kFewestToJudge)) kept.push_back(calls[i]);
  }
  return kept;
}

/// fit_line: the calls near the line that has most of them near it.
OneCallTimes near_line(const OneCallTimes& calls) {
  if (calls.size() < kFewestToJudge) return calls;
  std::vector<double> residuals = off_middle_line(calls);
  for (double& off_line : residuals) off_line = std::abs(1 / off_line - 1);
  const double deviation =
      1.4826 * (1 + 5 / static_cast<double>(calls.size() - kCoefficients)) * db::median(residuals);
  const double farthest = std::max(2.5 * deviation, kOffLine);
  OneCallTimes kept;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (residuals[i] <= farthest) kept.push_back(calls[i]);
  }
  return kMostOutliers * (calls.size() - kept.size()) <= calls.size() ? kept : calls;
}

/// Sizes of which each is larger than the one before, the smallest and the largest among them.
std::vector<double> sizes_apart(const OneCallTimes& calls) {
  std::vector<double> sizes{calls.front().units};
  for (const SizeTime& call : calls) {
    if (call.units > kApart * sizes.back()) sizes.push_back(call.units);
  }
  if (sizes.size() > 1) sizes.back() = calls.back().units;
  return sizes;
}

/// Points at these sizes, two or more of those of calls: least squares of the relative residuals,
/// whose equations have three diagonals.
std::vector<SizeTime> points_at(const std::vector<double>& sizes, const OneCallTimes& calls) {
  std::vector<double> diagonal(sizes.size()), beside(sizes.size()), right(sizes.size());
  std::size_t after = 1;
  for (const SizeTime& call : calls) {
    while (call.units > sizes[after]) ++after;
    const double share = (call.units - sizes[after - 1]) / (sizes[after] - sizes[after - 1]);
    const double of_left = (1 - share) / call.seconds, of_right = share / call.seconds;
    diagonal[after - 1] += of_left * of_left;
    diagonal[after] += of_right * of_right;
    beside[after - 1] += of_left * of_right;
    right[after - 1] += of_left;
    right[after] += of_right;
  }
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double factor = beside[i - 1] / diagonal[i - 1];
    diagonal[i] -= factor * beside[i - 1];
    right[i] -= factor * right[i - 1];
  }
  std::vector<SizeTime> points(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const double known = i + 1 < sizes.size() ? beside[i] * points[i + 1].seconds : 0;
    points[i] = {sizes[i], (right[i] - known) / diagonal[i]};
  }
  return points;
}

double square(double x) { return x * x; }

double squares_off(const std::vector<SizeTime>& points, const OneCallTimes& calls) {
  double sum = 0;
  for (const SizeTime& call : calls) {
    sum += square(db::seconds_at(points, call.units) / call.seconds - 1);
  }
  return sum;
}

/// Step 3 of fit_curve: no points where the line is best.
std::vector<SizeTime> points_that_explain(const Line& line, const OneCallTimes& calls) {
  const auto count = static_cast<double>(calls.size());
  const auto criterion = [&](double squares, std::size_t points, double unexplained) {
    return count * std::log(squares / count + square(unexplained)) +
           2 * static_cast<double>(points) * std::log(count);
  };
  double of_line = 0;
  for (const SizeTime& call : calls) of_line += square(line.at(call.units) / call.seconds - 1);
  const double straight = criterion(of_line, kCoefficients, kOffStraight);
  bool bends = false;
  double least = INFINITY;
  std::vector<SizeTime> best;
  std::vector<double> sizes = sizes_apart(calls);
  while (sizes.size() > kCoefficients) {
    const std::vector<SizeTime> points = points_at(sizes, calls);
    const bool are_times = std::ranges::all_of(points, [](auto& one) { return one.seconds > 0; });
    if (are_times && 4 * (points.size() + 1) <= 3 * calls.size()) {
      const double squares = squares_off(points, calls);
      bends = bends || criterion(squares, points.size(), kOffStraight) < straight;
      const double found = criterion(squares, points.size(), kUnexplained);
      if (found < least) {
        least = found;
        best = points;
      }
    }
    std::vector<double> next;
    double fewest = INFINITY;
    for (std::size_t out = 1; out + 1 < sizes.size(); ++out) {
      std::vector<double> others = sizes;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(out));
      const double squares = squares_off(points_at(others, calls), calls);
      if (squares >= fewest) continue;
      fewest = squares;
      next = std::move(others);
    }
    sizes = std::move(next);
  }
  return bends ? best : std::vector<SizeTime>{};
}

/// Gives a fit by points its coefficients.
void follow_points(LinearFit& fit) {
  const SizeTime &before = fit.points[fit.points.size() - 2], &last = fit.points.back();
  fit.alpha_s = db::seconds_at(fit.points, 0);
  fit.beta_s_per_unit =
      std::max((last.seconds - before.seconds) / (last.units - before.units), 0.0);
}

/// The line of least squares, without anything that judges it.
LinearFit line_through(const OneCallTimes& calls, std::string unit) {
  const Line line = Equations(calls).least();
  LinearFit fit;
  fit.unit = std::move(unit);
  fit.alpha_s = line.alpha;
  fit.beta_s_per_unit = line.beta;
  return fit;
}

/// Adds the range of its samples, and what tells how well `fit` meets the calls it was drawn through.
void judge(LinearFit& fit, std::span<const Sample> samples, const OneCallTimes& all,
           const OneCallTimes& calls) {
  const auto [least, most] = std::ranges::minmax(samples, {}, &Sample::units);
  fit.min_units = least.units;
  fit.max_units = most.units;
  fit.outliers = static_cast<int>(all.size() - calls.size());
  fit.samples = static_cast<int>(calls.size());
  double mean = 0;
  for (const SizeTime& call : calls) mean += call.seconds / fit.samples;
  double residual = 0, total = 0, relative = 0;
  for (const SizeTime& call : calls) {
    const double error = seconds_of(fit, 1, call.units) - call.seconds;
    residual += error * error;
    relative += square(error / call.seconds);
    total += square(call.seconds - mean);
    fit.max_relative_residual = std::max(fit.max_relative_residual, std::abs(error) / call.seconds);
  }
  const int coefficients = (fit.alpha_s > 0 ? 1 : 0) + (fit.beta_s_per_unit > 0 ? 1 : 0);
  const int freedom = fit.samples - std::max(coefficients, static_cast<int>(fit.points.size()));
  if (freedom <= 0) return;
  const double deviation = std::sqrt(relative / freedom);
  fit.relative_deviation = deviation;
  // Equal times have nothing to explain: the fit is perfect if it meets them.
  fit.r2 = total > 1e-24 * mean * mean ? 1 - residual / total
                                       : (residual <= 1e-12 * mean * mean ? 1 : 0);
  // Of a coefficient that is held at 0, too: how far above it may be.
  const Equations equations(calls);
  if (equations.tell_both()) {
    fit.alpha_error_s = deviation * std::sqrt(equations.nn / equations.determinant());
    fit.beta_error_s_per_unit = deviation * std::sqrt(equations.cc / equations.determinant());
  } else if (fit.beta_s_per_unit > 0) {
    fit.beta_error_s_per_unit = deviation / std::sqrt(equations.nn);
  } else {
    fit.alpha_error_s = deviation / std::sqrt(equations.cc);
  }
}

bool are_few(const LinearFit& fit) { return fit.samples < kCoefficients + 2; }

bool scatters(const LinearFit& fit) { return fit.relative_deviation.value_or(0) > kScatter; }

}  // namespace

double units_per_call(double calls, double units) { return units / std::max(calls, 1.0); }

LinearFit fit_curve(std::span<const Sample> samples, std::string unit) {
  const OneCallTimes all = calls_of(samples), calls = without_outliers(all);
  LinearFit fit = line_through(calls, std::move(unit));
  fit.points = points_that_explain({fit.alpha_s, fit.beta_s_per_unit}, calls);
  if (!fit.points.empty()) follow_points(fit);
  judge(fit, samples, all, calls);
  return fit;
}

LinearFit fit_line(std::span<const Sample> samples, std::string unit) {
  const OneCallTimes all = calls_of(samples), calls = near_line(all);
  LinearFit fit = line_through(calls, std::move(unit));
  judge(fit, samples, all, calls);
  return fit;
}

LinearFit fit_points(std::vector<SizeTime> points, std::string unit) {
  LinearFit fit;
  fit.unit = std::move(unit);
  fit.min_units = points.front().units;
  fit.max_units = points.back().units;
  fit.points = std::move(points);
  follow_points(fit);
  return fit;
}

bool is_doubtful(const LinearFit& fit) { return are_few(fit) || scatters(fit); }

std::string verdict_of(const LinearFit& fit) {
  std::vector<std::string> wrong;
  const bool has_alpha = fit.unit != "second", few = are_few(fit);
  if (few) wrong.emplace_back("too few samples");
  if (fit.outliers > 0) {
    wrong.push_back(
        fmt::format("{} outlier{} left out", fit.outliers, fit.outliers == 1 ? "" : "s"));
  }
  if (scatters(fit)) wrong.emplace_back("samples scatter");
  const bool resolved =
      fit.alpha_error_s && fit.alpha_s >= kResolved * *fit.alpha_error_s && fit.alpha_s > 0;
  if (has_alpha && !few && !resolved) wrong.emplace_back("alpha not resolved");
  return wrong.empty() ? "good" : fmt::format("{}", fmt::join(wrong, "; "));
}

double seconds_of(const LinearFit& fit, double calls, double units) {
  if (fit.points.empty()) return fit.alpha_s * calls + fit.beta_s_per_unit * units;
  return calls * db::seconds_at(fit.points, units_per_call(calls, units));
}

StraightPiece piece_at(const LinearFit& fit, double units) {
  if (fit.points.empty()) return {fit.alpha_s, fit.beta_s_per_unit};
  const double startup_s = db::seconds_at(fit.points, 0);
  if (!(units > 0)) return {startup_s, fit.beta_s_per_unit};
  return {startup_s, (db::seconds_at(fit.points, units) - startup_s) / units};
}

bool extrapolates(const LinearFit& fit, double units) {
  return units > 2 * fit.max_units || 2 * units < fit.min_units;
}

}  // namespace tuner
