#pragma once

#include <span>

#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"

namespace tuner {

/// Makes costs that were fitted to the iterations in `all` say how long computation takes at a
/// typical moment: a processor that others use too may compute 1.2 times as fast some minutes
/// later. `moments`: what was seen at each of several moments, which count alike. The fits of ops
/// whose units are flops are multiplied by the median, over the moments, of how many times as long
/// these took as in `all` (rank_slowdown.h, all ranks together). Those of ops whose units are bytes
/// likewise. Copies, collectives and interference stay. Moments in which no op ran alone do not
/// count. Returns the same median of all computation; 1, and nothing changes, where no moment
/// counts.
double set_pace(std::span<const Observations> moments, const Observations& all, CostModel& costs);

}  // namespace tuner
