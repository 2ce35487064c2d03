#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// How long a call of this size takes.
struct SizeTime {
  double units = 0;
  double seconds = 0;
  friend bool operator==(const SizeTime&, const SizeTime&) = default;
};

/// The line seconds = alpha_s * calls + beta_s_per_unit * units, both coefficients >= 0.
struct LinearFit {
  double alpha_s = 0;
  double beta_s_per_unit = 0;
  std::string unit;  ///< "flop" | "byte" | "second"
  /// R squared of the unweighted residuals; 1 where all times are equal and fitted exactly. None
  /// with no more samples than coefficients above zero, since the line then goes through all of
  /// them.
  std::optional<double> r2 = {};
  int samples = 0;       ///< number of samples that the line was drawn through
  double min_units = 0;  ///< the range that these samples cover
  double max_units = 0;
  double max_relative_residual = 0;  ///< largest |fitted - measured| / measured
  /// The standard deviation of (fitted - measured) / measured, with the number of samples minus the
  /// number of coefficients above zero in the denominator. None where r2 is none.
  std::optional<double> relative_deviation = {};
  /// Standard errors of the coefficients. None where the samples do not tell them.
  std::optional<double> alpha_error_s = {};
  std::optional<double> beta_error_s_per_unit = {};
  int outliers = 0;  ///< samples that the line leaves out
  /// By ascending size, times that do not fall; none where the line alone speaks. The time of a
  /// size between two points lies on the straight piece that joins them. The first piece and the
  /// last go on beyond the points, the first one not below 0.
  ///   [MPMoE 4.2: "piecewise-linear"; Lancet 5.3: "interpolate", both printed]
  std::vector<SizeTime> points = {};
  friend bool operator==(const LinearFit&, const LinearFit&) = default;
};

/// Calls `visit` with the name of every number that is stored of a line, and with this number of
/// each of `fits`: lines, or rows of the database.
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

/// Least squares of the *relative* residual (each sample weighs 1 / seconds^2), so that small sizes
/// count as much as large ones: minimise sum ((alpha c_i + beta n_i - t_i) / t_i)^2. Where the
/// unconstrained minimum has a negative coefficient, the constrained one lies on an axis: the
/// better of alpha = 0 and beta = 0.
///
/// Where all samples have (within 10%) the same units per call, alpha and beta cannot be told
/// apart: the line then goes through the origin. Throws std::invalid_argument without samples, and
/// for times that are not positive and finite.
LinearFit fit_line(std::span<const Sample> samples, std::string unit);

/// fit_line, with points: for each doubling of the units per call that has samples the median of
/// their sizes and times, and one at a quarter of the first size and four times the last, as far off
/// the line as these. A line cannot say that products of middle size run faster than small ones and
/// than those that no cache holds.  [MPMoE and Lancet interpolate sizes, too]
/// Where all samples lie within one doubling there are no points.
LinearFit fit_sizes(std::span<const Sample> samples, std::string unit);

/// A fit that is told by points (LinearFit::points), two or more; its line is fit_line of them.
LinearFit fit_points(std::vector<SizeTime> points, std::string unit);

/// fit_line without outliers, which do not bend the line: least median of squares, then least
/// squares of the samples near it.
///   [Rousseeuw 1984; the deviation of step 2: Rousseeuw and Leroy 1987, chapter 5]
///   1. Of all lines through two samples, and through one sample and the origin, take the line
///      whose median squared relative residual is least. Half of the samples may be wrong.
///   2. s = 1.4826 (1 + 5 / (samples - 2)) sqrt(that median) estimates the deviation. A sample is
///      an outlier where its residual exceeds both 2.5 s and `least_outlier`.
///   3. fit_line through all others.
/// Costs may bend where caches or small products begin: `least_outlier` keeps such samples. Fewer
/// than five samples do not tell which of them is wrong, and where more than a third were outliers
/// the line is wrong. In both cases no sample is left out.
LinearFit fit_line_without_outliers(std::span<const Sample> samples, std::string unit,
                                    double least_outlier);

/// "good", or the faults of the line, for a person: "too few samples" to check it with, "2 outliers
/// left out", "samples are no line" (they deviate by more than 20%), "alpha not resolved" (its
/// standard error is more than a third of it). Semicolons separate several.
std::string verdict_of(const LinearFit& fit);
inline constexpr const char* kAlphaNotResolved = "alpha not resolved";

/// The line's seconds, or those that points tell.
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
