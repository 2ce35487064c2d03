#pragma once

#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"

namespace tuner {

/// Makes costs that were fitted to the iterations in `all` say how long computation took in those
/// in `some` of them: a processor that others use too may compute 1.2 times as fast some minutes
/// later. The fits of ops whose units are flops are multiplied by how many times as long these took
/// (rank_slowdown.h, all ranks together), and likewise those of ops whose units are bytes. Copies,
/// collectives and interference stay. Nothing changes where no op of `some` ran alone.
void set_pace(const Observations& some, const Observations& all, CostModel& costs);

}  // namespace tuner
