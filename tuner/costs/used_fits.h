#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/costs/cost_model.h"

/// Which fits a prediction uses.
namespace tuner {

/// The end of a line of fits_used where the fit was measured at sizes more than two times apart.
inline constexpr std::string_view kExtrapolated = ", extrapolated";
/// The fits that a prediction of `program` uses, one line each: "linear[64x192]: linear, r2 0.998,
/// extrapolated". Ordered, without repetition.
std::vector<std::string> fits_used(const CostModel& costs, const moe::Program& program,
                                   const moe::Binding& binding, const moe::Groups& groups);

/// The keys of these fits.
std::set<std::string> fit_keys_used(const CostModel& costs, const moe::Program& program);

/// Says, for a person, which fits of a cluster's file for a kind of op or a shape are not among
/// those used; "" where all are. A general fit is for ops of many models, and may go unused.
std::string unused_fits(const CostModel& costs, const std::set<std::string>& used);

}  // namespace tuner
