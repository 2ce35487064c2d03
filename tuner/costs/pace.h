#pragma once

#include <optional>
#include <span>

#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"

namespace tuner {

/// How many times as long computation took at one moment as the fits say: the median over what was
/// seen in each of its iterations (rank_slowdown.h, all ranks together). None where no op of any of
/// them ran alone.
std::optional<RankSlowdown> pace_of(std::span<const Observations> iterations,
                                    const CostModel& costs);

/// Makes predictions with these costs say how long computation takes at the median of several
/// moments: a processor that others use too may compute 1.2 times as fast some minutes later. The
/// fits of ops whose units are flops are multiplied by the median of the moments' by_flops, over
/// the mean of `costs.slowdowns`, with which predictions multiply them again. Those of ops whose
/// units are bytes likewise. Copies, collectives and interference stay. `seen` tells which fits are
/// of copies. Returns the factor of all computation together; 1, and nothing changes, without
/// moments.
double set_pace(std::span<const RankSlowdown> moments, const Observations& seen, CostModel& costs);

}  // namespace tuner
