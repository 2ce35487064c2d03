#pragma once

#include <optional>
#include <string>

#include "db/connection.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/measured_place.h"

/// Chooses the fits of a database that are the costs of one machine.
namespace tuner {

/// The costs and the machine that the newest fits tell. None where there are no fits.
///
/// Fits of collectives and of interference are all of one machine and one network: those measured
/// with the nearest number of ranks or, without `ranks`, the newest, at the place that is meant
/// (chosen_place, of `asked` and `here`). Of several numbers of nodes and ranks there, the nearest
/// counts for each collective. Fits of computation and copies are those of the same machine or,
/// where it has none, the newest. Throws as chosen_place.
std::optional<MeasuredCosts> fitted_costs(const db::Connection& connection,
                                          std::optional<int> ranks, const std::string& asked,
                                          const MeasuredPlace& here);

}  // namespace tuner
