#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "db/timeline/timeline.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/op_costs.h"

/// The uncertainty s of a prediction, a standard deviation. The measured time lies within s of the
/// prediction about two times out of three, and within 2 s more than nine times out of ten.
///
///   s = sqrt((sum over fits of a^2) + b^2 + c^2)
///   a = r sqrt(sum over sizes of T^2 + p / n (sum over sizes of T)^2), where r is the relative
///       deviation of the fit of n samples and p coefficients, and T the seconds that the critical
///       path spends on ops of that fit and one size. The line is off by the same r for all ops of
///       a size, independently for each size, and is itself known to r sqrt(p / n).
///   b = predicted x the relative deviation with which the costs predict the profile, or after a
///       refinement its trials.
///   c = predicted x the relative deviation by which the machine changes from moment to moment. It
///       does not count for trials that the costs were fitted to: their moments are in the costs.
namespace tuner {

/// a, given the seconds of each size that depend on one fit; none where the deviation of the fit is
/// not known.
std::optional<double> deviation_of_fit(const LinearFit& fit, std::span<const double> seconds);

/// s, given the a of each fit. The two others are relative; none where they are not known.
double deviation_of_prediction(double predicted_s, std::span<const double> of_fits,
                               std::optional<double> profile_deviation,
                               std::optional<double> drift_deviation);

/// The relative standard deviation of predictions, given (predicted - measured) / measured of the
/// profiled iterations, by schedule. It is the root mean square of the medians of the schedules,
/// since a prediction is of the median iteration of another schedule, times sqrt(1 + 1 /
/// schedules), since there are few. Throws std::invalid_argument where there is no schedule, or one
/// without iterations.
double deviation_of_profile(const std::vector<std::vector<double>>& errors);

/// The iterations of one run: (predicted - measured) / measured of each. Runs of one moment were
/// trained in turns.
struct RunErrors {
  std::int64_t schedule = 0;
  int moment = 0;
  std::vector<double> errors;
};

/// The relative deviation by which a trial that is trained at two other moments takes longer or
/// shorter than these runs because the machine changed. Costs are medians over the moments of these
/// runs.
///
/// The logarithm of predicted over measured of a run is the sum of a term of its schedule, a term
/// of its moment, and noise (ties.h). With d the standard deviation of the moments' terms, it is
///     t d sqrt(v + 1 / 2),
/// where v is the variance of a median of so many values, over that of one, and t the limit within
/// which 68.3% of Student's distribution lie: few moments do not tell d well. None where no
/// schedule was trained at two moments.
std::optional<double> deviation_of_drift(std::span<const RunErrors> runs);

/// The a of every fit on the critical path of a timeline of `program` that moe::asked_timeline()
/// made.
std::vector<double> deviations_on_path(const db::Timeline& timeline, const moe::Program& program,
                                       const moe::Routing& routing, const moe::Groups& groups,
                                       const ProgramCosts& costs, const CostModel& model);

}  // namespace tuner
