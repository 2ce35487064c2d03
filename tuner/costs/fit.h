#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/records.h"

namespace tuner {

/// One timed execution of `calls` kernels or messages, one after the other, with `units` of work
/// (flops or bytes) in all.
struct Sample {
  double calls = 1;
  double units = 0;
  double seconds = 0;
};

/// The line seconds = alpha_s * calls + beta_s_per_unit * units, both coefficients >= 0.
///
/// Least squares of the *relative* residual (each sample weighs 1 / seconds^2), so that small sizes
/// count as much as large ones: minimise sum ((alpha c_i + beta n_i - t_i) / t_i)^2. Where the
/// unconstrained minimum has a negative coefficient, the constrained one lies on an axis: the
/// better of alpha = 0 and beta = 0.
struct LinearFit {
  double alpha_s = 0;
  double beta_s_per_unit = 0;
  std::string unit;  ///< "flop" | "byte"
  double r2 = 0;  ///< of the unweighted residuals; 1 where all times are equal and fitted exactly
  int samples = 0;
  double min_units = 0;  ///< range the samples covered
  double max_units = 0;
  double max_relative_residual = 0;  ///< largest |fitted - measured| / measured
  /// The standard deviation of (fitted - measured) / measured, with the number of samples minus the
  /// number of coefficients above zero in the denominator. None where that is 0, since the line
  /// then goes through all samples.
  std::optional<double> relative_deviation = {};
  friend bool operator==(const LinearFit&, const LinearFit&) = default;
};

/// Throws std::invalid_argument without samples, and for times that are not positive and finite.
/// Where all samples have (within 10%) the same units per call, alpha and beta cannot be told
/// apart: the line then goes through the origin.
LinearFit fit_line(std::span<const Sample> samples, std::string unit);

double seconds_of(const LinearFit& fit, double calls, double units);

/// True where `units` lies outside the range that was measured, by more than a factor of two.
bool extrapolates(const LinearFit& fit, double units);

}  // namespace tuner
