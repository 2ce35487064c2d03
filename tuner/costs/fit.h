#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/fit_curve.h"

namespace tuner {

/// One timed execution of `calls` kernels or messages, one after the other, with `units` of work
/// (flops or bytes) in all.
struct Sample {
  double calls = 1;
  double units = 0;
  double seconds = 0;
};

/// The size of a call. Less than one call counts as one.
double units_per_call(double calls, double units);

using db::SizeTime;

/// Seconds by units: a start-up, and the time of each size at as few points as explain the samples.
/// A line, seconds = alpha_s * calls + beta_s_per_unit * units, where that explains them.
struct LinearFit {
  double alpha_s = 0;          ///< a call of no units; 0 or more
  double beta_s_per_unit = 0;  ///< one more unit beyond the largest size; 0 or more
  std::string unit;            ///< "flop" | "byte" | "second"
  /// R squared of the unweighted residuals; 1 where all times are equal and fitted exactly. None
  /// with no more samples than coefficients above zero, or than points, since the fit then goes
  /// through all of them.
  std::optional<double> r2 = {};
  int samples = 0;       ///< number of samples that it was drawn through
  double min_units = 0;  ///< the range that these samples cover
  double max_units = 0;
  double max_relative_residual = 0;  ///< largest |fitted - measured| / measured
  /// The standard deviation of (fitted - measured) / measured, with the number of samples minus that
  /// of coefficients above zero, or of points, in the denominator. None where r2 is none.
  std::optional<double> relative_deviation = {};
  /// Standard errors of the coefficients. None where the samples do not tell them.
  std::optional<double> alpha_error_s = {};
  std::optional<double> beta_error_s_per_unit = {};
  int outliers = 0;  ///< samples that are left out
  /// By ascending size of a call (db::seconds_at); none where it is a line.
  std::vector<SizeTime> points = {};
  friend bool operator==(const LinearFit&, const LinearFit&) = default;
};

/// Calls `visit` with the name of every number that is stored of a fit, and with this number of
/// each of `fits`: fits, or rows of the database.
template <class Visit, class... Fits>
void each_figure(const Visit& visit, Fits&... fits) {
  visit("alpha_s", fits.alpha_s...);
  visit("beta_s_per_unit", fits.beta_s_per_unit...);
  visit("r2", fits.r2...);
  visit("samples", fits.samples...);
  visit("min_units", fits.min_units...);
  visit("max_units", fits.max_units...);
  visit("max_relative_residual", fits.max_relative_residual...);
  visit("relative_deviation", fits.relative_deviation...);
  visit("alpha_error_s", fits.alpha_error_s...);
  visit("beta_error_s_per_unit", fits.beta_error_s_per_unit...);
  visit("outliers", fits.outliers...);
}

/// The curve through samples, which need not rise everywhere.
///
/// All steps weigh *relative* residuals, (fitted - measured) / measured, so that small sizes count as
/// much as large ones.
///   1. Samples alone are outliers, and left out: 2.5 times off what the two and the four samples
///      next in size take, relative to the line that has most of them near it (least median of
///      squares [Rousseeuw 1984]). Of the smallest and the largest size that is one that neither a
///      constant time nor a constant rate leads to. Two sizes side by side are never outliers: a
///      protocol begins, or a cache ends. Fewer than five samples do not tell which is wrong.
///   2. The line of least squares. Where its minimum has a negative coefficient, it lies on an axis:
///      the better of alpha = 0 and beta = 0. Where all samples have (within a factor of 1.8) the
///      same size, alpha and beta cannot be told apart: it goes through the origin.
///   3. Points at all sizes, fitted by least squares; then again and again without the one that tells
///      least. A curve counts where for one of these
///          n log(mean square + 2%^2) + 2 points log n
///      is less than of the line, which has two points [twice the penalty of Schwarz 1978, since
///      sizes of points are chosen, too; what is below 2% bends no line]. It is the one for which
///      the same with 1% is least. A curve has at most 3 n / 4 - 1 points.
/// Throws std::invalid_argument without samples, and for times that are not positive and finite.
LinearFit fit_curve(std::span<const Sample> samples, std::string unit);

/// The line of step 2, where most samples are of a line and some are not: the line that has most of
/// them near it, then least squares of those whose relative residual is at most 0.5, or 2.5 of its
/// deviations [Rousseeuw and Leroy 1987, chapter 5]. Where more than a third were farther off, all
/// count. Throws as fit_curve.
LinearFit fit_line(std::span<const Sample> samples, std::string unit);

/// A fit that is told by points (LinearFit::points), two or more.
LinearFit fit_points(std::vector<SizeTime> points, std::string unit);

/// "good", or the faults of the fit, for a person: "too few samples" to check it with, "2 outliers
/// left out", "samples scatter" (they deviate by more than 20%), "alpha not resolved" (its
/// standard error is more than a third of it). Semicolons separate several.
std::string verdict_of(const LinearFit& fit);
/// Whether a prediction should not rest on the fit: too few samples, or they scatter. Without its
/// outliers a fit is sound, and an alpha that is not resolved is small beside what was measured.
bool is_doubtful(const LinearFit& fit);

/// The seconds of `calls` with so many units in all.
double seconds_of(const LinearFit& fit, double calls, double units);

/// The line of one call: seconds = startup_s + s_per_unit * units.
struct StraightPiece {
  double startup_s = 0;
  double s_per_unit = 0;
};
/// The fit's own line. Where the fit has points, the line from what a call of no units takes to
/// what one of `units` takes.
StraightPiece piece_at(const LinearFit& fit, double units);

/// True where `units` lies outside the range that was measured, by more than a factor of two.
bool extrapolates(const LinearFit& fit, double units);

}  // namespace tuner
