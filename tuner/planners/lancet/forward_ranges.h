#pragma once

#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// The ranges of forward ops that Lancet's dynamic program cuts, at most one around each MoE layer, as far as
/// partition axes allow (range_axes.h): along the batch (partition_range), into 2 to 8 parts that divide the
/// sequences. A layer that cannot be cut so, as its gate needs the whole batch, can be cut along capacity, which
/// reaches no further than its exchanges (pipeline_split).  [Lancet 5.2; a range of the exchanges alone]
/// `streams`: the schedule without ranges.
std::vector<moe::Decision> forward_ranges(const Situation& situation, const moe::Schedule& streams);

}  // namespace tuner
