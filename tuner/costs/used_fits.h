#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/costs/cost_model.h"
#include "tuner/costs/op_costs.h"

/// Which fits a prediction uses.
namespace tuner {

/// The end of a line of fits_used where the fit was measured at sizes more than two times apart.
inline constexpr std::string_view kExtrapolated = ", extrapolated";
/// The fits that a prediction of `program` uses, one line each: "linear[64x192]: linear, r2 0.998,
/// extrapolated". Fits of collectives are those of the links that they cross. Ordered, without
/// repetition.
/// `ops`: the costs of its ops. Units are those of rank 0, which has this binding.
std::vector<std::string> fits_used(const CostModel& costs, const moe::Program& program,
                                   const std::vector<OpCost>& ops, const moe::Binding& binding,
                                   const moe::Groups& groups);

/// The end of a line of fits_used of a collective without a fit.
inline constexpr std::string_view kByLinks = ": the cluster's links";
/// Which kinds of ops are costed beyond what was measured, by these lines of fits_used: "of 34 shapes
/// of ops 3 are extrapolated (linear, gelu), and 1 has the rate of its link alone (send_rows)". ""
/// where none is.
std::string beyond_measured(const std::vector<std::string>& lines);

/// The keys of fits, as predictions of a Program use them.
struct FitUse {
  std::set<std::string> used;
  /// Of collectives that cross only the other link, which has no fit of theirs.
  std::set<std::string> of_other_link;

  void merge(FitUse other);
};
FitUse fit_use(const CostModel& costs, const moe::Program& program, const std::vector<OpCost>& ops);

/// Says, for a person, which fits of a cluster's file are not among those used; "" where all are. A
/// general fit is for ops of many models, and may go unused, unless it is of the other link; so may
/// one of bf16 or f64 where nothing else is computed in that type.
std::string unused_fits(const CostModel& costs, const FitUse& use);

}  // namespace tuner
