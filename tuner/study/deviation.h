#pragma once

#include <optional>
#include <span>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "tuner/costs/cost_model.h"
#include "tuner/simulate/critical_path.h"

/// How sure a prediction is: predicted +- s, s a standard deviation, so that the truth lies within s of
/// the prediction about two times out of three and within 2 s more than nine out of ten.
///
///   s = sqrt(sum over fits of a^2 + b^2)
///   a = r sqrt(sum over sizes of T^2 + p / n (sum over sizes of T)^2), r the relative deviation of the
///       fit of n samples and p coefficients, T the seconds that the critical path spends on ops of
///       that fit and one size: the line misses all ops of a size by the same r, sizes independently
///       of each other, and is itself known to r sqrt(p / n);
///   b = predicted x relative deviation with which the costs predict the profile that they come from.
namespace tuner {

/// a: of seconds by size that rest on one fit; none where it does not know its deviation.
std::optional<double> deviation_of_fit(const LinearFit& fit, std::span<const double> seconds);

/// s, of each fit's a. `profile_deviation`: relative, none where the costs come from no profile.
double deviation_of_prediction(double predicted_s, std::span<const double> of_fits,
                               std::optional<double> profile_deviation);

/// Relative standard deviation of predictions from (predicted - measured) / measured of the iterations
/// that were profiled, by run: the root mean square of the runs' medians, as a prediction is of a
/// median iteration of another schedule, times sqrt(1 + 1 / runs), as so few tell it only so well.
/// Throws std::invalid_argument where there is no run, or one without iterations.
double deviation_of_profile(const std::vector<std::vector<double>>& errors);

/// Every a of a path; bindings by rank.
std::vector<double> deviations_on_path(const std::vector<PathStep>& path,
                                       const moe::Program& program,
                                       const std::vector<moe::Binding>& bindings,
                                       const moe::Groups& groups, const std::vector<OpCost>& costs,
                                       const CostModel& model);

}  // namespace tuner
